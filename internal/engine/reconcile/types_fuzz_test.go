package reconcile_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/typecheck"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
)

// intended are diagnostics of expressions that still return a value, which is intended: a
// comparison that is never or always true, which is evaluated.
var intended = []string{"can never be true", "is always true"}

// FuzzTypesRefuseNothingThatWorks creates a schema, an object that the API server would accept, and
// an expression that reads its fields. An expression that returns a value has no diagnostic, except
// intended ones; a comparison that is never true according to its diagnostic is never true; and no
// message contains a value of an object.
func FuzzTypesRefuseNothingThatWorks(f *testing.F) {
	for seed := range uint64(1500) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		m := &typesMaker{Rand: rand.New(rand.NewPCG(seed, 0)), paths: map[string][]string{}}
		k, overlay := m.scene()
		input, x := m.input()
		s := typesScene(t, input, overlay)
		if s == nil {
			return
		}
		result, err := s.call(t)
		if err != nil || !gave(result) {
			return
		}
		for _, fault := range typecheck.CheckTypes(s.plan, k) {
			if strings.Contains(fault.Message, canary) {
				t.Errorf("%s\nshows a value: %s", input, fault.Message)
			}
			if slices.ContainsFunc(intended, func(text string) bool { return strings.Contains(fault.Message, text) }) && !refuted(x, fault.Message, result) {
				continue
			}
			t.Errorf("%s\n%s\ngives %s, but is refused: %s: %s", input, overlay, show(result), fault.Place(), fault.Message)
		}
	})
}

// typesScene is nil if the input does not compile.
func typesScene(t *testing.T, input, overlay string) *scene {
	t.Helper()
	in := map[string]any{}
	if err := yaml.Unmarshal([]byte(plantest.Exports(input)), &in); err != nil {
		t.Fatalf("%v:\n%s", err, input)
	}
	object, err := structpb.NewStruct(in)
	if err != nil {
		return nil
	}
	if _, faults := plan.Compile(context.Background(), plantest.Env, object); len(faults) > 0 {
		return nil
	}
	return newScene(t, plantest.Exports(input), overlay)
}

// gave reports whether each expression gave a value of the type that is wanted.
func gave(r *reconcile.Result) bool {
	for _, o := range r.Objects {
		if o.State != reconcile.Available && o.Desired == nil || len(o.Message) > 0 {
			return false
		}
	}
	for _, s := range r.Status {
		if s.State != reconcile.Available {
			return false
		}
	}
	return len(r.Others) == 0
}

// refuted reports whether a comparison, which is the whole expression, has the result that is
// impossible according to a diagnostic.
func refuted(x, fault string, r *reconcile.Result) bool {
	if x == "" || len(r.Status) == 0 {
		return false
	}
	value := r.Status[0].Value.GetBoolValue()
	return strings.HasPrefix(fault, "can never be true") && value || strings.HasPrefix(fault, "is always true") && !value
}

// A typesMaker makes all that one case is made of.
type typesMaker struct {
	*rand.Rand

	paths map[string][]string // expressions of fields, by what their value is
	depth int
}

func (m *typesMaker) one(of ...string) string { return of[m.IntN(len(of))] }

func (m *typesMaker) maybe(percent int) bool { return m.IntN(100) < percent }

// scene returns a composite and a database of kinds with schemas.
func (m *typesMaker) scene() (*typecheck.Known, string) {
	composite, compositeObject := m.Object(3, "composite")
	db, dbObject := m.Object(3, "resources.db")
	m.paths["object"] = append(m.paths["object"], "resources", "composite", "resources.db", "composite.metadata", "resources.db.metadata.labels")
	m.paths["string"] = append(m.paths["string"], "composite.metadata.name", "resources.db.kind", "secret.password", "resources.db.metadata.labels.team")
	schemas := map[plan.Kind]*structpb.Struct{}
	for kind, s := range map[plan.Kind]map[string]any{plantest.App: composite, {APIVersion: "example.org/v1", Kind: "DB"}: db} {
		properties := s["properties"].(map[string]any)
		properties["status"] = map[string]any{"type": "object", "properties": map[string]any{"out": map[string]any{"x-kubernetes-preserve-unknown-fields": true}}}
		schemas[kind], _ = structpb.NewStruct(s)
	}
	maps.Copy(compositeObject, map[string]any{"apiVersion": "example.org/v1", "kind": "App", "metadata": map[string]any{"name": "xr", "namespace": "team", "uid": "u1"}})
	maps.Copy(dbObject, map[string]any{"apiVersion": "example.org/v1", "kind": "DB", "metadata": map[string]any{"name": "db-1", "labels": map[string]any{"team": "a"}}})
	text, _ := yaml.Marshal(map[string]any{
		"composite": compositeObject,
		"resources": map[string]any{"db": map[string]any{"object": dbObject, "details": map[string]any{"password": "canary-pass"}}},
	})
	return &typecheck.Known{
		Composite: plantest.App, Resources: map[string]plan.Kind{"db": {APIVersion: "example.org/v1", Kind: "DB"}}, Closed: true,
		Schema: func(k plan.Kind) *structpb.Struct { return schemas[k] },
	}, string(text)
}

// Object is a schema with named fields, and what the API server takes for it.
func (m *typesMaker) Object(depth int, at string) (schema, value map[string]any) {
	properties, value := map[string]any{}, map[string]any{}
	for _, name := range []string{"a", "b", "c", "d"}[:1+m.IntN(4)] {
		field := at + "." + name
		switch m.IntN(5) {
		case 0:
			field = at + "['" + name + "']"
		case 1:
			name += "-x.y/z"
			field = at + "['" + name + "']"
		}
		s, v, there := m.field(depth-1, field)
		if properties[name] = s; there {
			value[name] = v
		}
	}
	schema = map[string]any{"type": "object", "properties": properties}
	switch m.IntN(8) {
	case 0:
		schema["x-kubernetes-preserve-unknown-fields"] = true
		value["further"] = map[string]any{"x": "canary-further"}
		m.paths["any"] = append(m.paths["any"], at+".further", at+".further.x")
	case 1:
		delete(schema, "type")
	case 2:
		schema["oneOf"] = []any{map[string]any{"required": []any{"a"}}, map[string]any{"properties": map[string]any{"b": map[string]any{"minLength": 1.0}}}}
	case 3:
		schema["nullable"] = true
	}
	m.paths["object"] = append(m.paths["object"], at)
	return schema, value
}

// field is the schema of one, and a value if there is one.
func (m *typesMaker) field(depth int, at string) (schema map[string]any, value any, there bool) {
	kind, schema, value := m.scalar()
	if depth > 0 {
		switch m.IntN(7) {
		case 0, 1:
			schema, value := m.Object(depth, at)
			return schema, value, m.maybe(90)
		case 2:
			items, v, _ := m.field(depth-1, at+"[0]")
			m.paths["list"] = append(m.paths["list"], at)
			return map[string]any{"type": "array", "items": items}, slices.Repeat([]any{v}, 1+m.IntN(2)), m.maybe(90)
		case 3:
			values, v, _ := m.field(depth-1, at+".k")
			m.paths["object"] = append(m.paths["object"], at)
			object := map[string]any{}
			if m.maybe(70) {
				object["k"] = v
			}
			return map[string]any{"type": "object", "additionalProperties": values}, object, m.maybe(90)
		case 4:
			return m.open(at)
		}
	}
	if m.maybe(10) {
		schema["nullable"] = true
		if m.maybe(50) {
			value = nil
		}
	}
	m.paths[kind] = append(m.paths[kind], at)
	return schema, value, m.maybe(85)
}

// open is a field that may be anything, in one of the ways to say so.
func (m *typesMaker) open(at string) (schema map[string]any, value any, there bool) {
	inner := map[string]any{"s": "canary-s", "n": 3.0, "l": []any{"x", 2.0}}
	m.paths["any"] = append(m.paths["any"], at, at+".s")
	switch m.IntN(5) {
	case 0:
		return map[string]any{"type": "object", "additionalProperties": true}, inner, true
	case 1:
		return map[string]any{"type": "object", "additionalProperties": map[string]any{}}, inner, true
	case 2:
		return map[string]any{"x-kubernetes-preserve-unknown-fields": true}, inner, true
	case 3:
		inner["apiVersion"], inner["kind"], inner["metadata"] = "v1", "ConfigMap", map[string]any{"name": "n", "labels": map[string]any{"a": "b"}}
		m.paths["string"] = append(m.paths["string"], at+".metadata.name", at+".metadata.labels.a", at+".kind")
		return map[string]any{"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}, inner, true
	}
	return map[string]any{"allOf": []any{map[string]any{"type": "object", "properties": map[string]any{"s": map[string]any{"type": "string"}}}}}, inner, true
}

func (m *typesMaker) scalar() (kind string, schema map[string]any, value any) {
	switch m.IntN(9) {
	case 0, 1:
		return "string", map[string]any{"type": "string"}, m.one("canary-a", "", "b", "c.d", "5", "2024-01-01T00:00:00Z")
	case 2:
		return "string", map[string]any{"type": "string", "enum": []any{"a", "b", ""}, "default": "a"}, m.one("a", "b", "")
	case 3:
		return "any", map[string]any{"type": "string", "nullable": true, "enum": []any{"a", nil}}, []any{"a", nil}[m.IntN(2)]
	case 4:
		return "int", map[string]any{"type": "integer", "format": "int64"}, float64(m.IntN(4))
	case 5:
		return "bool", map[string]any{"type": "boolean"}, m.maybe(50)
	case 6:
		return "any", map[string]any{"x-kubernetes-int-or-string": true, "anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}}, []any{5.0, "5%"}[m.IntN(2)]
	case 7:
		return m.one("any", "int"), map[string]any{"type": "number"}, []any{2.0, 2.5}[m.IntN(2)]
	}
	return "string", map[string]any{"type": "string", "format": "byte"}, "Y2FuYXJ5"
}

// input has one expression, and perhaps a variable. Of a comparison it returns the text.
func (m *typesMaker) input() (input, comparison string) {
	var variables string
	for i := range m.IntN(3) {
		kind := m.one("string", "int", "list", "object", "any", "optional")
		x := m.expression(kind)
		name := fmt.Sprintf("v%d", i)
		variables += "- {name: " + name + ", value: " + quoted(x) + "}\n"
		m.paths[kind] = append(m.paths[kind], "variables."+name)
	}
	if variables != "" { // all are evaluated
		variables = "configMaps:\n- {name: all, data: [{key: k, nonSensitive: [password], value: \"json.encode(variables) + string(size(variables.map(k, json.encode([variables[k]]))))\"}]}\nvariables:\n" + variables
	}
	switch m.IntN(7) {
	case 0:
		return variables + "secrets:\n- {name: out, from: db, data: [{key: k, value: " + quoted(m.expression("string")) + "}]}", ""
	case 1:
		x := m.expression("map")
		return variables + "secrets:\n- {name: out, from: db, data: [{valueMap: " + quoted(x) + "}]}", ""
	case 2:
		return variables + "secrets:\n- {name: out, metadata: {labelsExpression: " + quoted(m.expression("map")) + "}, data: [{key: k, value: \"'v'\"}]}", ""
	case 3, 4:
		x := m.operand() + m.one(" == ", " != ", " in ") + m.operand()
		return variables + status(x), x
	}
	return variables + status(m.expression(m.one("string", "int", "bool", "list", "object", "any", "optional"))), ""
}

// operand of a comparison, with none in it.
func (m *typesMaker) operand() string {
	if m.maybe(10) {
		return "null"
	}
	return m.atomAt(3, m.one("string", "int", "int", "int", "list", "list", "object", "any", "optional"))
}

func status(x string) string {
	return "status:\n- {fieldPath: out, nonSensitive: [password], value: " + quoted(x) + "}"
}

func quoted(x string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(x, `\`, `\\`), `"`, `\"`) + `"`
}

// atom returns an expression that may not be evaluated: an error in it is always a diagnostic, so
// it must not have any.
func (m *typesMaker) atom(kind string) string { return m.atomAt(4, kind) }

func (m *typesMaker) atomAt(depth int, kind string) string {
	defer func(depth int) { m.depth = depth }(m.depth)
	m.depth = depth
	if kind == "any" && m.maybe(80) {
		kind = m.one("string", "int", "bool", "list", "object")
	}
	return m.expression(kind)
}

// A placeholder in the grammar: <kind> is an expression of the kind, and <~kind> one that may not be evaluated.
var placeholder = regexp.MustCompile(`<(~?)(\w+)>`)

// anyKind are the kinds of an expression that may have any.
var anyKind = []string{"string", "int", "bool", "list", "object", "any", "any", "optional", "map"}

// grammar has the expressions of each kind: leaves, and those with others in them.
var grammar = map[string]struct{ leaves, deep []string }{
	"string": {[]string{"'a'", "'b-c'", "''", "resources.db.kind"}, []string{
		"(<string> + <string>)", "string(<int>)", "string(<bool>)", "string(<any>)", "(<string>).lowerAscii()", "(<string>).trim()",
		"(<string>).replace('a', 'b')", "(<string>).substring(0)", "(<string>).reverse()", "json.encode(<any>)", "yaml.encode(<any>)",
		"'%s %v'.format([<any>, <any>])", "(<list>).join(',')", "(<object>).map(k, k)[0]", "(<list>).map(e, json.encode(e)).join('-')",
		"(<object>).transformList(k, v, k + json.encode(v)).join('-')", "base64.encode(bytes(<string>))", "sha256(<string>)",
		"(<optional>).orValue(<~string>)", "(<object>)[(<object>).map(k, k)[0]]", "url.queryEscape(<string>)",
	}},
	"int": {[]string{"1", "2", "2.0", "1.0", "3.0", "2.5", "1u", "2u"}, []string{
		"(<int> + <int>)", "(<int> - <int>)", "(<int> * <int>)", "(<int> % <int>)", "size(<string>)", "size(<list>)", "size(<object>)",
		"math.greatest(<int>, <int>)", "math.least([<int>, <int>])", "int(<int>)", "int(<any>)", "double(<int>)",
		"(<string>).indexOf('a')", "-<int>", "math.ceil(double(<int>))",
	}},
	"bool": {[]string{"true", "false", "resources.db.kind == 'DB'"}, []string{
		"(<any> == <any>)", "(<any> != <any>)", "(<any> in <list>)", "(<any> in <object>)", "(<int> < <int>)", "(<int> >= <any>)",
		"(<~bool> && <~bool>)", "(<~bool> || <~bool>)", "!(<~bool>)", "(<list>).exists(e, e == <~any>)", "(<list>).all(e, e != <~any>)",
		"(<list>).exists_one(e, e == <~any>)", "(<object>).exists(k, v, v == <~any>)", "(<object>).all(k, v, k != <~any>)",
		"(<object>).existsOne(k, v, v == <~any>)", "(<string>).startsWith('a')", "(<string>).matches('^a.*')",
		"sets.contains(<list>, <list>)", "sets.equivalent(<list>, <list>)", "sets.intersects(<list>, <list>)", "(<optional>).hasValue()",
		"(<object>).exists(k, k == 'a')", "(type(<any>) == map)", "(type(<any>) == type(<any>))", "(<object> == {})",
	}},
	"list": {[]string{
		"[]", "['a']", "[1.0, 3.0]", "[0.0, 2.0]", "[1u]", "['a'].filter(e, false)", "[1, 'x']", "[null]", "[{}]", "[1, 2.0]",
	}, []string{
		"((<list>) + (<list>))", "[<any>, <any>]", "(<list>).filter(e, e != <~any>)", "(<list>).map(e, e)", "(<list>).map(e, {'v': e})",
		"(<list>).map(e, [e])", "(<list>).map(e, <~any>)", "(<object>).transformList(k, v, {'k': k, 'v': v})", "(<list>).distinct()",
		"(<list>).reverse()", "(<list>).slice(0, 1)", "(<list>).sort()", "(<list>).sortBy(e, string(e))",
		"(<object>).map(k, k)", "(<object>).map(k, <~any>)", "(<string>).split('-')", "(<object>).filter(k, k != 'a')",
		"(<list>).transformList(i, e, i)", "(<list>).transformList(i, e, e)", "lists.range(<int>)", "[?<optional>]",
		"(<list>).map(e, e == <~any>, e)", "[<object>] + [<object>]", "[<list>, [<any>]].flatten()", "[<object>].map(o, [o])",
	}},
	"object": {[]string{"{}", "{'a': 'b'}"}, []string{
		"{'a': <any>, 'b': <any>}", "(<object>).transformMap(k, v, json.encode(v))", "(<object>).transformMap(k, v, <~any>)",
		"(<object>).transformMapEntry(k, v, {k + 'x': <~any>})", "(<object>).transformMap(k, v, k != 'a', <~any>)",
		"{?'a': <optional>, 'b': <any>}", "(<list>).transformMapEntry(i, e, {'k' + string(i): <~any>})", "(<optional>).orValue({})",
		"(<bool> ? (<object>) : {})",
	}},
	"map": {[]string{"{}", "{'a': 'b'}"}, []string{
		"{'a': <string>, 'b': <string>}", "(<object>).transformMap(k, v, json.encode(v))", "(<object>).transformMap(k, v, <~string>)",
		"(<object>).transformMapEntry(k, v, {k + 'x': <~string>})", "{?'a': <optional>, 'b': <string>}",
		"(<list>).transformMapEntry(i, e, {'k' + string(i): json.encode(e)})", "(<bool> ? (<object>) : {})",
	}},
	"optional": {[]string{"optional.none()", "optional.of('a')", "composite.metadata.?name"}, []string{
		"(json.decode('{\"a\": 1}'))[?'a']", "(json.decode('{\"a\": 1}'))[?'b']", "optional.of(<any>)", "(<optional>).or(<optional>)",
		"(<optional>).optMap(o, {'o': o})", "(<optional>).optMap(o, <~any>)", "(<list>)[?0]", "(<optional>).optFlatMap(o, optional.of(o))",
		"optional.ofNonZeroValue(<any>)",
	}},
	"any": {[]string{"1", "2.5", "'x'", "b'x'", "true", "[]", "{}", "1u", "dyn(1)"}, []string{
		"dyn(<any>)", "<any>", "json.decode('{\"a\": [1, \"x\"]}')", "type(<any>)", "timestamp('2024-01-01T00:00:00Z')", "null",
		"<list>[0]", "<optional>.value()",
	}},
}

// chosen are values of a kind in a ternary, a local variable, or a list.
var chosen = []string{
	"(<bool> ? <~kind> : <~kind>)", "cel.bind(x, <kind>, x)", "[<kind>, <any>][0]", "{'k': <kind>, 'l': <any>}.k",
	"optional.of(<kind>).orValue(<~kind>)", "[<kind>].map(x, x)[0]",
}

// expression of what gives a value of a kind, if all that it reads is there.
func (m *typesMaker) expression(kind string) string {
	m.depth++
	defer func() { m.depth-- }()
	if paths := m.paths[kind]; len(paths) > 0 && m.maybe(20+15*m.depth) {
		return m.spelled(paths[m.IntN(len(paths))])
	}
	text := m.one(grammar[kind].leaves...)
	if m.depth < 4 {
		text = m.one(grammar[kind].deep...)
		if m.maybe(12) {
			text = strings.ReplaceAll(m.one(chosen...), "kind>", kind+">")
		}
	}
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		of := placeholder.FindStringSubmatch(p)
		switch {
		case of[1] != "":
			return m.atom(of[2])
		case of[2] == "any":
			return m.expression(m.one(anyKind...))
		}
		return m.expression(of[2])
	})
}

// spelled is a path in one of the ways to write it.
func (m *typesMaker) spelled(p string) string {
	i := strings.LastIndex(p, ".")
	last := p[i+1:]
	if i < 0 || strings.ContainsAny(last, "[]'/") {
		return p
	}
	switch m.IntN(6) {
	case 0:
		return p[:i] + "['" + last + "']"
	case 1:
		return p[:i] + "['' + '" + last + "']"
	case 2:
		return "(has(" + p + ") ? " + p + " : " + p + ")"
	case 3:
		return p[:i] + ".?" + last + ".value()"
	}
	return p
}
