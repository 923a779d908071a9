package attack

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A Request returns a request of at most 4 MiB that causes as much work, or uses as much memory, as one
// request can. The author of a Composition wrote the input. The rest is data that a cluster can contain.
type Request func() *fnv1.RunFunctionRequest

// fields of an object, in JSON's types.
type fields = map[string]any

const requestKeys = 9_900 // below the limit of a rewrite

// Requests returns attacks that are more than a single expression, by name. Each call of a Request
// returns a new request.
func Requests() map[string]Request {
	extract := func(rules ...any) fields { return fields{"extract": fields{"key": "db"}, "rewrite": rules} }
	prefix := func(i int) any { return fields{"regexp": fields{"source": "^", "target": fmt.Sprintf("p%d_", i)}} }
	secretsOf := func(n int, entry fields) fields {
		return fields{"secrets": list(n, func(i int) any { return secret(i, fields{"dataFrom": []any{entry}}) })}
	}
	entries := func(n int, entry func(i int) any) fields {
		return fields{"secrets": []any{secret(0, fields{"dataFrom": list(n, entry)})}}
	}
	rules := func(rule fields) []any { return list(limits.RewriteRules, func(int) any { return rule }) }
	data := func(n int, value string) fields {
		return fields{"data": list(n, func(i int) any { return fields{"key": fmt.Sprint("k-", i), "value": value} })}
	}
	megabyte := func() map[string][]byte { return map[string][]byte{"v": []byte(strings.Repeat("a", 1_000_000))} }
	keys := func() map[string][]byte { return numberedDetails(requestKeys, strings.Repeat("k", 60)+"-%d") }
	keyExpression := fields{"transform": fields{"keyExpression": "key.replace('k', 'l').replace('l', 'k')"}}
	pattern := fields{"regexp": fields{"source": "(k|kk|kkk)*x|(?:[a-k]{0,20}y){3}", "target": "z"}}
	template := fields{"transform": fields{"template": "{{ .value | " + strings.TrimSuffix(strings.Repeat("upper | lower | ", 5), " | ") + " }}"}}

	out := map[string]Request{
		"key expressions":         requestOf(secretsOf(1, extract(rules(keyExpression)...)), withDetails(keys)),
		"key expressions in 64":   requestOf(secretsOf(64, extract(rules(keyExpression)...)), withDetails(keys)),
		"regexps":                 requestOf(secretsOf(8, extract(rules(pattern)...)), withDetails(keys)),
		"regexps in 64":           requestOf(secretsOf(64, extract(rules(pattern)...)), withDetails(keys)),
		"templates":               requestOf(secretsOf(64, extract(rules(template)...)), withDetails(keys)),
		"extracts of one":         requestOf(entries(64, func(int) any { return extract() }), withDetails(keys)),
		"extracts kept apart":     requestOf(entries(64, func(i int) any { return extract(prefix(i)) }), withDetails(keys)),
		"extracts, the last wins": requestOf(fields{"secrets": []any{secret(0, fields{"dataFrom": list(64, func(int) any { return extract() })})}}, withDetails(keys)),
		"extracts in 64":          requestOf(secretsOf(64, extract()), withDetails(keys)),
		"extracts of long names":  requestOf(secretsOf(64, extract(prefix(0))), withDetails(func() map[string][]byte { return numberedDetails(450, strings.Repeat("k", 4000)+"-%d") })),
		"long values":             requestOf(fields{"secrets": []any{secret(0, data(256, "secrets.db.v"))}}, withDetails(megabyte)),
		"long values in 64":       requestOf(fields{"secrets": list(64, func(i int) any { return secret(i, data(1, "secrets.db.v")) })}, withDetails(megabyte)),
		"long values, decoded":    requestOf(entries(64, func(i int) any { e := extract(prefix(i)); e["decodingStrategy"] = "Auto"; return e }), withDetails(megabyte)),
		"long values in labels": requestOf(fields{"secrets": list(64, func(i int) any {
			return secret(i, fields{"metadata": fields{"annotationsExpression": "{'a': composite.spec.v + ''}"}, "data": data(1, "'v'")["data"]})
		})}, withText),
		"unicode names": requestOf(entries(64, func(i int) any { e := extract(prefix(i)); e["conversionStrategy"] = "Unicode"; return e }), withDetails(func() map[string][]byte { return numberedDetails(3_000, strings.Repeat("é", 100)+"-%d") })),
		"maps": requestOf(fields{"secrets": list(64, func(i int) any {
			return secret(i, fields{"data": list(32, func(int) any { return fields{"valueMap": "secrets.db"} })})
		})}, withDetails(keys)),
		"merges":          requestOf(entries(64, func(i int) any { return mergesOf(extract(), i) }), withDetails(func() map[string][]byte { return map[string][]byte{"v": []byte(members(60_000))} })),
		"merges of a few": requestOf(entries(64, func(i int) any { return mergesOf(extract(), i) }), withDetails(func() map[string][]byte { return map[string][]byte{"v": []byte(members(2_000))} })),
		"properties": requestOf(entries(64, func(i int) any {
			return fields{"extract": fields{"key": "db", "property": "v.a"}, "rewrite": []any{prefix(i)}}
		}), withDetails(func() map[string][]byte { return map[string][]byte{"v": []byte(`{"a":` + members(50_000) + `}`)} })),
		"finds": requestOf(entries(64, func(i int) any {
			return fields{"find": fields{"name": fields{"regexp": "(k|kk|kkk)*x$|" + fmt.Sprint(i)}}, "rewrite": []any{prefix(i)}}
		}), withResources(20_000)),
		"finds of nothing":        requestOf(entries(64, func(i int) any { return fields{"find": fields{"path": "none/"}} }), withResources(20_000)),
		"status":                  requestOf(fields{"status": list(64, func(i int) any { return fields{"fieldPath": fmt.Sprint("f", i), "value": "composite.spec"} })}, withSpec(60_000)),
		"environment set":         requestOf(fields{"environment": fields{"set": list(64, func(i int) any { return fields{"fieldPath": fmt.Sprint("f", i), "value": "'v'"} })}}, withEnvironment(100_000)),
		"environment set with it": requestOf(fields{"environment": fields{"set": list(64, func(i int) any { return fields{"fieldPath": fmt.Sprint("f", i), "value": "environment.f"} })}}, withEnvironment(60_000)),
		"environment merged":      requestOf(fields{"environment": fields{"environmentConfigs": list(64, func(int) any { return fields{"type": "Reference", "ref": fields{"name": "e"}} })}}, withConfigs),
		"environment merged of many": requestOf(fields{"environment": fields{"environmentConfigs": list(64, func(int) any {
			return fields{"type": "Selector", "selector": fields{"mode": "Multiple", "sortByFieldPath": "data.k", "matchLabels": []any{fields{"key": "a", "type": "Value", "value": "b"}}}}
		})}}, withManyConfigs),
		"sources of one":           requestOf(sourcesOf("Secret", "secrets"), withSource("Secret")),
		"sources of one ConfigMap": requestOf(configMapsOf(), withSource("ConfigMap")),
		"sources of many": requestOf(fields{"sources": list(64, func(i int) any {
			return fields{"name": fmt.Sprint("s", i), "apiVersion": "v1", "kind": "ConfigMap", "matchLabels": fields{"a": "b"}}
		}), "configMaps": []any{fields{"name": "c0", "data": list(64, func(i int) any {
			return fields{"key": fmt.Sprint("k", i), "value": fmt.Sprintf("string(size(sources.s%d))", i)}
		})}}}, withManySources),
		"types":                 requestOf(misspeltKeys(200), withSchema(85_000)),
		"types of a large kind": requestOf(misspeltKeys(200), withSchema(40_000)),
		"types of many":         requestOf(manyMisspelt(), withSchema(20_000)),
		"managers":              requestOf(fields{"secrets": []any{secret(0, data(1, "composite.nothing"))}}, withManagers(20_000)),
		"generators of others":  requestOf(fields{"generators": list(64, func(i int) any { return fields{"name": fmt.Sprint("g", i), "uuid": fields{}} })}, withStates(60_000)),
		"misspelt resources":    requestOf(misspeltResources(), withDesired(60_000)),
		"misspelt, long":        requestOf(misspeltResources(), withLongDesired),
		"sizes of resources": requestOf(fields{"configMaps": []any{fields{"name": "c0", "data": list(64, func(i int) any {
			return fields{"key": fmt.Sprint("k", i), "value": "string(lists.range(10000).map(i, size(resources)).size())"}
		})}}}, withResources(20_000)),
		"resources in a list": requestOf(fields{"configMaps": []any{fields{"name": "c0", "data": list(64, func(i int) any {
			return fields{"key": fmt.Sprint("k", i), "value": "string(lists.range(10000).all(i, 'x' in resources || size(context) > 0))"}
		})}}}, withResources(20_000)),
		"generations":            requestOf(fields{"generators": []any{fields{"name": "g", "password": fields{}}}, "secrets": []any{secret(0, data(1, "generated.g.password"))}}, withGenerations(9_000)),
		"generations of nothing": requestOf(fields{"secrets": []any{secret(0, data(1, "'v'"))}}, withGenerations(9_000)),
		"variables": requestOf(fields{"variables": list(64, func(i int) any {
			return fields{"name": fmt.Sprint("v", i), "value": "secrets.db.v + '" + fmt.Sprint(i) + "'"}
		}), "secrets": []any{secret(0, fields{"data": list(64, func(i int) any {
			return fields{"key": fmt.Sprint("k-", i), "value": fmt.Sprintf("string(size(variables.v%d))", i)}
		})})}}, withDetails(megabyte)),
		"many tests": requestOf(fields{"configMaps": list(32, func(i int) any {
			return merged(fields{"name": fmt.Sprint("c", i)}, data(64, "string(context.f[0] == context.f[1])"))
		})}, withContext(100_000)),
	}
	maps.Copy(out, itemRequests())
	return out
}

func secret(i int, more fields) fields { return merged(fields{"name": fmt.Sprint("s", i)}, more) }

func merged(a, b fields) fields {
	out := fields{}
	for _, m := range []fields{a, b} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

func requestOf(input fields, state func(*fnv1.RunFunctionRequest)) Request {
	return func() *fnv1.RunFunctionRequest {
		in := merged(input, fields{"apiVersion": "export.fn.crossplane.io/v1beta1", "kind": "Exports"})
		req := &fnv1.RunFunctionRequest{
			Meta:  &fnv1.RequestMeta{Capabilities: []fnv1.Capability{fnv1.Capability_CAPABILITY_REQUIRED_SCHEMAS, fnv1.Capability_CAPABILITY_CAPABILITIES}},
			Input: structOf(in),
			Observed: &fnv1.State{
				Composite: composed("App", "xr", fields{}, nil),
				Resources: map[string]*fnv1.Resource{},
			},
			Desired:           &fnv1.State{Resources: map[string]*fnv1.Resource{}},
			RequiredResources: map[string]*fnv1.Resources{},
		}
		for i := range 64 { // so that the first call requires nothing
			for _, name := range []string{fmt.Sprint("s", i), fmt.Sprint("c", i)} {
				kind := map[byte]string{'s': "Secret", 'c': "ConfigMap"}[name[0]]
				req.Observed.Resources[name] = &fnv1.Resource{Resource: structOf(fields{"apiVersion": "v1", "kind": kind, "metadata": fields{"name": "xr-" + name, "namespace": "team"}})}
			}
		}
		state(req)
		return req
	}
}

// structOf panics if the text is not JSON, which is a defect of an attack.
func structOf(m fields) *structpb.Struct {
	s, err := structpb.NewStruct(m)
	if err != nil {
		panic(err)
	}
	return s
}

func composed(kind, name string, more fields, details map[string][]byte) *fnv1.Resource {
	s := structOf(merged(fields{"apiVersion": "example.org/v1", "kind": kind, "metadata": fields{"name": name, "namespace": "team", "uid": name + "-uid"}}, more))
	return &fnv1.Resource{Resource: s, ConnectionDetails: details}
}

func numberedDetails(n int, format string) map[string][]byte {
	out := make(map[string][]byte, n)
	for i := range n {
		out[fmt.Sprintf(format, i)] = []byte("0123456789")
	}
	return out
}

func withDetails(details func() map[string][]byte) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		db := composed("Database", "db", fields{"spec": fields{"writeConnectionSecretToRef": fields{"name": "db-conn"}}}, nil)
		data := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for k, v := range details() {
			data.Fields[k] = structpb.NewStringValue(base64.StdEncoding.EncodeToString(v))
		}
		secret := structOf(fields{"apiVersion": "v1", "kind": "Secret", "metadata": fields{"name": "db-conn", "namespace": "team", "ownerReferences": []any{fields{"controller": true, "uid": "db-uid"}}}})
		secret.Fields["data"] = structpb.NewStructValue(data)
		req.Observed.Resources["db"] = db
		found(req, "v1/Secret/team/name=db-conn", secret)
	}
}

func withResources(n int) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		for i := range n {
			req.Observed.Resources[fmt.Sprint("kkkkkkkk-", i)] = &fnv1.Resource{
				Resource:          structOf(fields{"kind": "K", "metadata": fields{"name": fmt.Sprint(i)}}),
				ConnectionDetails: map[string][]byte{strings.Repeat("k", 40): []byte("v")},
			}
		}
	}
}

func withSpec(n int) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		req.Observed.Composite.Resource.Fields["spec"] = structpb.NewStructValue(numberedFields(n))
	}
}

func numberedFields(n int) *structpb.Struct {
	s := &structpb.Struct{Fields: make(map[string]*structpb.Value, n)}
	for i := range n {
		s.Fields[fmt.Sprint("f", i)] = structpb.NewNumberValue(1)
	}
	return s
}

func withContext(n int) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		big := structpb.NewStructValue(numberedFields(n / 2))
		req.Context = &structpb.Struct{Fields: map[string]*structpb.Value{"f": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{big, big}})}}
	}
}

func withEnvironment(n int) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		env := numberedFields(1)
		env.Fields["f"] = structpb.NewStructValue(numberedFields(n))
		req.Context = &structpb.Struct{Fields: map[string]*structpb.Value{"apiextensions.crossplane.io/environment": structpb.NewStructValue(env)}}
	}
}

const requirementPrefix = "export.fn.crossplane.io/"

func found(req *fnv1.RunFunctionRequest, key string, objects ...*structpb.Struct) {
	all := &fnv1.Resources{}
	for _, o := range objects {
		all.Items = append(all.Items, &fnv1.Resource{Resource: o})
	}
	req.RequiredResources[requirementPrefix+key] = all
}

func config(name string, n int) *structpb.Struct {
	s := structOf(fields{"apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "EnvironmentConfig", "metadata": fields{"name": name, "labels": fields{"a": "b"}}})
	data := numberedFields(n)
	data.Fields["k"] = structpb.NewStringValue(name)
	s.Fields["data"] = structpb.NewStructValue(data)
	return s
}

func withConfigs(req *fnv1.RunFunctionRequest) {
	found(req, "apiextensions.crossplane.io/v1beta1/EnvironmentConfig//name=e", config("e", 120_000))
}

func withManyConfigs(req *fnv1.RunFunctionRequest) {
	var all []*structpb.Struct
	for i := range 20_000 {
		all = append(all, config(fmt.Sprint("e", i), 0))
	}
	found(req, "apiextensions.crossplane.io/v1beta1/EnvironmentConfig//labels=a=b", all...)
}

// sourcesOf returns 64 sources that read the same object.
func sourcesOf(kind, variable string) fields {
	sources := list(64, func(i int) any {
		return fields{"name": fmt.Sprint("x", i), "apiVersion": "v1", "kind": kind, "matchName": "one"}
	})
	return fields{"sources": sources, "secrets": []any{secret(0, fields{"data": list(64, func(i int) any {
		return fields{"key": fmt.Sprint("k", i), "value": fmt.Sprintf("string(size(%s.x%d))", variable, i)}
	})})}}
}

// configMapsOf returns 4,096 entries that extract the same object.
func configMapsOf() fields {
	sources := []any{fields{"name": "s", "apiVersion": "v1", "kind": "ConfigMap", "matchName": "one"}}
	return fields{"sources": sources, "configMaps": list(64, func(i int) any {
		return fields{"name": fmt.Sprint("c", i), "dataFrom": list(64, func(int) any { return fields{"extract": fields{"key": "s"}} })}
	})}
}

func withSource(kind string) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		data := fields{}
		for i := range 10 {
			data[fmt.Sprint("k", i)] = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", 100_000)))
		}
		for i := range 9_000 {
			data[fmt.Sprint("s", i)] = "YQ=="
		}
		found(req, "v1/"+kind+"/team/name=one", structOf(fields{"apiVersion": "v1", "kind": kind, "metadata": fields{"name": "one", "namespace": "team"}, "data": data}))
	}
}

func withManySources(req *fnv1.RunFunctionRequest) {
	var all []*structpb.Struct
	for i := range 20_000 {
		all = append(all, structOf(fields{"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields{"name": fmt.Sprint("e", i), "namespace": "team", "labels": fields{"a": "b"}}}))
	}
	found(req, "v1/ConfigMap/team/labels=a=b", all...)
}

func misspeltKeys(n int) fields {
	return fields{"secrets": []any{secret(0, fields{"from": "db", "data": list(n, func(i int) any {
		return fields{"key": fmt.Sprint("k-", i), "value": fmt.Sprintf("resource.status.field%dmisspelt", i)}
	})})}}
}

// manyMisspelt returns as many expressions as an input may have, each with some misspelled names.
func manyMisspelt() fields {
	return fields{"secrets": list(8, func(s int) any {
		return secret(s, fields{"from": "db", "data": list(250, func(i int) any {
			return fields{"key": fmt.Sprint("k-", i), "value": fmt.Sprintf("resource.status.a%d + resource.status.b%d + resource.status.c%d", i, i, i)}
		})})
	})}
}

func withSchema(n int) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		req.Observed.Resources["db"] = composed("Database", "db", fields{"status": fields{}}, nil)
		properties := &structpb.Struct{Fields: make(map[string]*structpb.Value, n)}
		text := structpb.NewStructValue(structOf(fields{"type": "string"}))
		for i := range n {
			properties.Fields[fmt.Sprintf("field%d-properly", i)] = text
		}
		status := structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"type": structpb.NewStringValue("object"), "properties": structpb.NewStructValue(properties)}})
		schema := structOf(fields{"type": "object", "properties": fields{}})
		schema.Fields["properties"].GetStructValue().Fields["status"] = status
		req.RequiredSchemas = map[string]*fnv1.Schema{
			requirementPrefix + "example.org/v1/Database": {OpenapiV3: schema},
			requirementPrefix + "example.org/v1/App":      {OpenapiV3: structOf(fields{"type": "object"})},
		}
	}
}

func misspeltResources() fields {
	return fields{"secrets": list(4, func(s int) any {
		return secret(s, fields{"data": list(250, func(i int) any {
			return fields{"key": fmt.Sprint("k-", i), "value": fmt.Sprintf("resources.misspelt%dresource%d.status.x", s, i)}
		})})
	})}
}

func withDesired(n int) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		for i := range n {
			req.Desired.Resources[fmt.Sprintf("spelt%dresource-properly", i)] = &fnv1.Resource{Resource: &structpb.Struct{}}
		}
	}
}

func withLongDesired(req *fnv1.RunFunctionRequest) {
	for i := range 8 {
		req.Desired.Resources[strings.Repeat("m", 400_000)+fmt.Sprint(i)] = &fnv1.Resource{Resource: &structpb.Struct{}}
	}
}

func withGenerations(n int) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		for i := 1; i <= n; i++ {
			name := fmt.Sprint("xr-g-", i)
			req.Observed.Resources[fmt.Sprint("generated/g/", i)] = &fnv1.Resource{Resource: structOf(fields{
				"apiVersion": "v1", "kind": "Secret", "immutable": true, "data": fields{"password": "cHc="},
				"metadata": fields{"name": name, "namespace": "team", "uid": name, "annotations": fields{"export.fn.crossplane.io/generator-state": fmt.Sprintf(`{"state":{"generator":"g","generation":%d,"generatedAt":"2026-01-01T00:00:00Z"}}`, i)}},
			})}
		}
	}
}

func mergesOf(entry fields, n int) fields {
	entry["rewrite"] = list(limits.RewriteRules, func(i int) any {
		return fields{"merge": fields{"strategy": "JSON", "into": fmt.Sprintf("k%d-%d", n, i), "conflictPolicy": "Ignore"}}
	})
	return entry
}

// members returns a JSON object with the given number of members.
func members(n int) string { return "{" + numbered(n, `"member-%d":1`) + "}" }

// withManagers adds an observed Secret that many field managers applied.
func withManagers(n int) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		o := structOf(fields{"apiVersion": "v1", "kind": "Secret", "metadata": fields{"name": "xr-s0", "namespace": "team"}})
		data, managers := fields{}, make([]*structpb.Value, n)
		entry := structpb.NewStructValue(structOf(fields{"operation": "Apply", "manager": "apiextensions.crossplane.io/composed", "fieldsV1": fields{"f:x": fields{}}}))
		for i := range managers {
			managers[i] = entry
			data[fmt.Sprint(i)] = "YQ=="
		}
		o.Fields["data"] = structpb.NewStructValue(structOf(data))
		o.Fields["metadata"].GetStructValue().Fields["managedFields"] = structpb.NewListValue(&structpb.ListValue{Values: managers})
		req.Observed.Resources["s0"] = &fnv1.Resource{Resource: o}
	}
}

func withStates(n int) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		req.Context = &structpb.Struct{Fields: map[string]*structpb.Value{"export.fn.crossplane.io/generator-state": structpb.NewStructValue(numberedStates(n))}}
	}
}

func numberedStates(n int) *structpb.Struct {
	s := &structpb.Struct{Fields: make(map[string]*structpb.Value, n)}
	for i := range n {
		s.Fields[fmt.Sprint("x", i)] = structpb.NewStructValue(structOf(fields{"input": "other"}))
	}
	return s
}

func withText(req *fnv1.RunFunctionRequest) {
	req.Observed.Composite.Resource.Fields["spec"] = structpb.NewStructValue(structOf(fields{"v": strings.Repeat("a", 1_000_000)}))
}
