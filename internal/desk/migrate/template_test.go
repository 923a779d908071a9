package migrate_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// The functions of templates that are translated, as Sprig defines them.
var templateFunctions = template.FuncMap{
	"upper": strings.ToUpper, "lower": strings.ToLower, "trim": strings.TrimSpace,
	"quote":  func(v any) string { return strconv.Quote(fmt.Sprint(v)) },
	"squote": func(v any) string { return "'" + fmt.Sprint(v) + "'" },
	"b64enc": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"b64dec": func(s string) (string, error) {
		b, err := base64.StdEncoding.DecodeString(s)
		return string(b), err
	},
	"replace":  func(from, to, s string) string { return strings.ReplaceAll(s, from, to) },
	"toString": func(v any) string { return fmt.Sprint(v) },
	"default": func(d any, given ...any) any {
		if len(given) == 0 || given[0] == nil || given[0] == "" || given[0] == 0.0 || given[0] == false {
			return d
		}
		return given[0]
	},
	"toJson": func(v any) (string, error) {
		b, err := json.Marshal(v)
		return string(b), err
	},
	"fromJson": func(s string) (v any, err error) { return v, json.Unmarshal([]byte(s), &v) },
	"dig": func(args ...any) any {
		var v any = args[len(args)-1]
		for _, name := range args[:len(args)-2] {
			m, _ := v.(map[string]any)
			if v = m[name.(string)]; v == nil {
				return args[len(args)-2]
			}
		}
		return v
	},
	"join": func(sep string, list []any) string {
		return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", sep)
	},
	"getComposedConnectionDetails": func(root map[string]any, name string) any {
		resources := root["observed"].(map[string]any)["resources"].(map[string]any)
		return resources[name].(map[string]any)["connectionDetails"]
	},
	"getComposedResource": func(root map[string]any, name string) any {
		return root["observed"].(map[string]any)["resources"].(map[string]any)[name].(map[string]any)["resource"]
	},
	"getCompositeResource": func(root map[string]any) any {
		return root["observed"].(map[string]any)["composite"].(map[string]any)["resource"]
	},
	"setResourceNameAnnotation": func(name string) string {
		return "gotemplating.fn.crossplane.io/composition-resource-name: " + name
	},
}

// rendered is what a template produces.
func rendered(t testing.TB, text string, data any) string {
	t.Helper()
	parsed, err := template.New("").Funcs(templateFunctions).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := parsed.Execute(&b, data); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A Composition of the resource db, so that the remote secret db needs no source.
var withDatabase = migrate.Document{Name: "composition", Value: map[string]any{
	"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
	"spec": map[string]any{"mode": "Pipeline", "pipeline": []any{map[string]any{"step": "compose",
		"input": map[string]any{
			"apiVersion": "pt.fn.crossplane.io/v1beta1", "kind": "Resources",
			"resources": []any{map[string]any{"name": "db",
				"base": map[string]any{"apiVersion": "example.org/v1", "kind": "DB"}}},
		}}}},
}}

// A template of an ExternalSecret and its translation produce the same.
func TestTemplates(t *testing.T) {
	secret := map[string]string{
		"user": "Ann", "password": "p%s's \"q\" <&>", "spaced": "  a b\t\n", "encoded": "aGVsbG8=", "blank": "",
		"name": `{"first": "Ann", "last": "Lee", "port": 5432}`, "url": "oci://registry.example.org", "with-dash": "x",
	}
	details, data := map[string][]byte{}, map[string]any{}
	for k, v := range secret {
		details[k], data[k] = []byte(v), v
	}
	for name, text := range map[string]string{
		"Lookup":       `{{ .user }}`,
		"Text":         "a: {{ .user }}\nb: '{{ .password }}' 100% %s\n",
		"Trimmed":      "a {{- .user -}}  \n b",
		"Comment":      "a{{/* not this */}}{{ .user }}",
		"Index":        `{{ index . "with-dash" }}`,
		"EncodeText":   `{{ printf "%s:%s" .user .password | b64enc }}`,
		"Decode":       `{{ .encoded | b64dec }}`,
		"DecodeInText": `<{{ .encoded | b64dec | upper }}>`,
		"Quote":        `{{ .password | quote }}{{ .user | squote }}`,
		"JSON":         `{"a": {{ .user | toJson }}}`,
		"FromJSON":     `{{ (fromJson .name).first }} {{ (.name | fromJson).last }} {{ (fromJson .name).port }}`,
		"Printf":       `{{ printf "%s=%v 100%%" .user .password }}`,
		"Replace":      `{{ .user | replace "n" "m" }}`,
		"Variable":     `{{ $u := .user | upper }}{{ $u }}:{{ $u }}`,
		"Escape":       `{{ .user | urlquery }}`,
	} {
		t.Run(name, func(t *testing.T) {
			es := map[string]any{
				"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret",
				"metadata": map[string]any{"name": "e"},
				"spec": map[string]any{
					"target":   map[string]any{"template": map[string]any{"data": map[string]any{"out": text}}},
					"dataFrom": []any{map[string]any{"extract": map[string]any{"key": "db"}}},
				},
			}
			r, faults := migrate.Migrate(context.Background(), env, []migrate.Document{withDatabase, {Name: "doc",
				Value: es}})
			if r == nil {
				t.Fatal(faults)
			}
			if r.Steps != 1 {
				t.Fatalf("it is a comment:\n%s", r.YAML)
			}
			_, inputs := steps(t, r.YAML)
			got, _, why := composedSecret(t, inputs[0], compositeXR(nil), observedDatabase(t, nil, details))
			want := map[string]string{"out": rendered(t, text, data)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want, +got:\n%s\n%s\n%s", diff, why, r.YAML)
			}
		})
	}
}

func compositeXR(fields map[string]any) map[string]any {
	xr := map[string]any{"apiVersion": "example.org/v1", "kind": "XR",
		"metadata": map[string]any{"name": "xr", "namespace": "team", "uid": "u"}}
	for k, v := range fields {
		xr[k] = v
	}
	return xr
}

func observedDatabase(t testing.TB, status map[string]any, details map[string][]byte) map[string]observation.Resource {
	t.Helper()
	db, err := structpb.NewStruct(map[string]any{"apiVersion": "example.org/v1", "kind": "DB",
		"metadata": map[string]any{"name": "db-1"}, "status": status})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]observation.Resource{"db": {Object: wire.Of(db), Details: observation.Details(details)}}
}

// A Secret that a template of function-go-templating renders has the same name and the same data after
// the migration.
func TestTemplatedSecrets(t *testing.T) {
	details := map[string][]byte{"username": []byte("ann"), "password": []byte("p\"1': #")}
	status := map[string]any{"host": "db.example.org", "port": 5432.0,
		"addresses": []any{map[string]any{"ip": "10.0.0.1"}}, "off": false, "none": ""}
	xr := compositeXR(map[string]any{"spec": map[string]any{"database": "shop", "team": "t-1", "empty": "", "size": 3.0,
		"off": false, "encoded": "aGVsbG8=", "names": []any{"a", "b"}, "tags": map[string]any{"x": "1", "y": "2"},
		"users": []any{map[string]any{"name": "ann", "age": 3.0, "keys": []any{"k1", "k2"}},
			map[string]any{"name": "bob", "age": 4.0}}}})
	encoded := map[string]any{}
	for k, v := range details {
		encoded[k] = base64.StdEncoding.EncodeToString(v)
	}
	data := map[string]any{
		"observed": map[string]any{
			"composite": map[string]any{"resource": xr},
			"resources": map[string]any{"db": map[string]any{"resource": map[string]any{"status": status},
				"connectionDetails": encoded}},
		},
	}
	const head = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: xr-conn\n  annotations:\n" +
		"    {{ setResourceNameAnnotation \"conn\" }}\n"
	archive, err := txtar.ParseFile("testdata/templates.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		name, text := file.Name, strings.Replace(string(file.Data), "HEAD\n", head, 1)
		t.Run(name, func(t *testing.T) {
			r := migratedTemplate(t, text)
			if r.Steps != 1 || r.Decisions != 0 {
				t.Fatalf("it has %d steps and %d decisions:\n%s", r.Steps, r.Decisions, r.YAML)
			}
			_, inputs := steps(t, r.YAML)
			got, where, why := composedSecret(t, inputs[0], xr, observedDatabase(t, status, details))
			if diff := cmp.Diff(renderedSecret(t, rendered(t, text, data)), got); diff != "" || where != "team/xr-conn" {
				t.Errorf("%s: -want, +got:\n%s\n%s\n%s", where, diff, why, r.YAML)
			}
		})
	}
}

// templatedComposition is a Composition with an inline template.
func templatedComposition(text string) map[string]any {
	return map[string]any{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
		"metadata": map[string]any{"name": "c"}, "spec": map[string]any{
			"mode": "Pipeline", "pipeline": []any{map[string]any{"step": "render", "input": map[string]any{
				"apiVersion": "gotemplating.fn.crossplane.io/v1beta1", "kind": "GoTemplate", "source": "Inline",
				"inline": map[string]any{"template": text},
			}}},
		}}
}

func migratedTemplate(t testing.TB, text string) *migrate.Result {
	t.Helper()
	r, faults := migrate.Migrate(context.Background(), env,
		[]migrate.Document{{Name: "doc", Value: templatedComposition(text)}})
	if r == nil {
		t.Fatal(faults)
	}
	return r
}

// renderedSecret is the data of the only Secret in YAML.
func renderedSecret(t testing.TB, text string) map[string]string {
	t.Helper()
	docs, err := document.Parse(text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	out := map[string]string{}
	for _, d := range docs {
		o, _ := d.Value().(map[string]any)
		if o["kind"] != "Secret" {
			continue
		}
		data, _ := o["data"].(map[string]any)
		for k, v := range data {
			b, err := base64.StdEncoding.DecodeString(v.(string))
			if err != nil {
				t.Fatal(err)
			}
			out[k] = string(b)
		}
		texts, _ := o["stringData"].(map[string]any)
		for k, v := range texts {
			out[k] = v.(string)
		}
	}
	return out
}
