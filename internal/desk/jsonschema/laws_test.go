package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// A mutation of an input, made in place.
type mutation struct {
	name string
	make func()
}

// mutations that change the structure of a value: a field more, a field less, and a value
// of another type.
func mutations(at string, value any, s map[string]any, put func(any), samples map[string]any) []mutation {
	var out []mutation
	for _, other := range []any{nil, "x", 5.0, true, []any{}, map[string]any{}} {
		if reflect.TypeOf(other) != reflect.TypeOf(value) || other != any("x") {
			out = append(out, mutation{fmt.Sprintf("%s becomes %T", at, other), func() { put(other) }})
		}
	}
	switch value := value.(type) {
	case []any:
		items, _ := s["items"].(map[string]any)
		for i, v := range value {
			out = append(out, mutations(at+"/"+strconv.Itoa(i), v, items, func(v any) { value[i] = v }, samples)...)
		}
	case map[string]any:
		out = append(out, mutation{at + " gets unknown", func() { value["unknown"] = "x" }})
		fields, _ := s["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if _, ok := value[name]; !ok {
				out = append(out, mutation{at + " gets " + name, func() { value[name] = samples[kindOf(at)+"/"+name] }})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			out = append(out, mutation{at + " loses " + name, func() { delete(value, name) }})
			below, _ := fields[name].(map[string]any)
			out = append(out, mutations(at+"/"+name, value[name], below, func(v any) { value[name] = v }, samples)...)
		}
	}
	return out
}

// kindOf is a path without the numbers of items: what it says is the same for each.
func kindOf(at string) string {
	steps := strings.Split(at, "/")
	for i, s := range steps {
		if _, err := strconv.Atoi(s); err == nil {
			steps[i] = "*"
		}
	}
	return strings.Join(steps, "/")
}

// sample remembers a value of each field.
func sample(at string, value any, out map[string]any) {
	out[kindOf(at)] = value
	switch value := value.(type) {
	case []any:
		for i, v := range value {
			sample(at+"/"+strconv.Itoa(i), v, out)
		}
	case map[string]any:
		for name, v := range value {
			sample(at+"/"+name, v, out)
		}
	}
}

// A mutator makes full inputs, and all mutations of each.
type mutator struct {
	full     []byte // as JSON
	schema   map[string]any
	samples  map[string]any // by their kinds of path
	exports  *jsonschema.Schema
	function func(any) diagnostic.List
}

func newMutator(t testing.TB) *mutator {
	t.Helper()
	input := documents(t, read(t, "testdata/full.yaml"))[0]
	m := &mutator{samples: map[string]any{}, exports: compiled(t, exportsFile), function: takes(t)}
	if err := json.Unmarshal([]byte(read(t, published+exportsFile)), &m.schema); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.full, err = json.Marshal(input); err != nil {
		t.Fatal(err)
	}
	sample("", input, m.samples)
	for at, value := range maps.Clone(m.samples) { // what one kind of export cannot have beside another field, the other has
		for _, kinds := range [][2]string{{"/secrets/", "/configMaps/"}, {"/configMaps/", "/secrets/"}} {
			if rest, ok := strings.CutPrefix(at, kinds[0]); ok && m.samples[kinds[1]+rest] == nil {
				m.samples[kinds[1]+rest] = value
			}
		}
	}
	return m
}

func (m *mutator) input(t testing.TB) (any, []mutation) {
	t.Helper()
	var input any
	if err := json.Unmarshal(m.full, &input); err != nil {
		t.Fatal(err)
	}
	return input, mutations("", input, m.schema, func(any) {}, m.samples)
}

// What only the function says: it needs an expression, or another part of the input, or
// more than the structure of a value.
var beyond = regexp.MustCompile(strings.Join([]string{
	`^[^ ]*:\d+:\d+: `, // of an expression
	"there is no generator", "names a certificate that is not a CA", "must be one of allow.secrets", "secret data, which may flow",
	"must be set for the environment", "over the length of", "the password must have 4 symbols", "must be an object whose values are strings",
	`resource\.manifest\.metadata\.\w+: .*must not be set in a manifest`,
	// Rules that compare several fields:
	"for type rsa", "only RSA keys have that format", "must not be the generator itself", "a CA signs itself", "together with length", "a CA must not have dnsNames", "refreshPolicy", "together with valueMap", "together with the nameExpression",
	"an empty string removes", "has no effect without readyExpression", "with forEachExpression", "unless dataFrom is set", "for each item",
}, "|"))

// agree fails unless the schema and the function both take an input, or both refuse it.
func (m *mutator) agree(t *testing.T, input any, what string) {
	t.Helper()
	faults := m.function(input)
	structural := slices.ContainsFunc(faults, func(f *diagnostic.Diagnostic) bool { return !beyond.MatchString(f.Error()) })
	schema := refused(m.exports, input)
	if structural && schema == nil {
		t.Errorf("%s: the function refuses it, and the schema does not: %v", what, faults)
	}
	if len(schema) > 0 && len(faults) == 0 {
		t.Errorf("%s: the schema refuses it, and the function does not: %v", what, schema)
	}
}

// The full input has no errors, and every field.
func TestFull(t *testing.T) {
	m := newMutator(t)
	input, _ := m.input(t)
	m.agree(t, input, "the full input")
	if faults := m.function(input); faults != nil {
		t.Error(faults)
	}
	var walk func(at string, s map[string]any)
	walk = func(at string, s map[string]any) {
		if _, ok := m.samples[at]; !ok {
			t.Errorf("testdata/full.yaml has no %s", at)
		}
		fields, _ := s["properties"].(map[string]any)
		for name, f := range fields {
			if below, ok := f.(map[string]any); ok && !strings.Contains(at, "/manifest") {
				walk(at+"/"+name, below)
			}
		}
		if items, ok := s["items"].(map[string]any); ok {
			walk(at+"/*", items)
		}
	}
	walk("", m.schema)
}

// Whatever is changed in the structure of an input, the schema and the function agree.
func TestSchemaAgreesWithFunction(t *testing.T) {
	m := newMutator(t)
	_, all := m.input(t)
	if len(all) < 1000 {
		t.Fatalf("want at least 1000 mutations, got %d", len(all))
	}
	for i := 0; i < len(all); i += proof.Step(8) {
		input, all := m.input(t)
		all[i].make()
		m.agree(t, input, all[i].name)
	}
}

// And if two things are.
func FuzzSchemaAgreesWithFunction(f *testing.F) {
	f.Add(uint16(0), uint16(1))
	f.Add(uint16(100), uint16(1000))
	m := newMutator(f)
	f.Fuzz(func(t *testing.T, a, b uint16) {
		input, all := m.input(t)
		one, other := all[int(a)%len(all)], all[int(b)%len(all)]
		one.make()
		other.make()
		m.agree(t, input, one.name+", "+other.name)
	})
}

// broken are the rules, by their texts, that do not hold for a value or one inside it.
func broken(s *definition.Schema, value any, out map[string]bool) {
	if n, ok := value.(float64); ok {
		value = int64(n)
	}
	for _, r := range s.Rules {
		if holds, err := r.Holds(whole(value)); err == nil && !holds {
			out[r.Text] = true
		}
	}
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			if s.Items != nil {
				broken(s.Items, v, out)
			}
		}
	case map[string]any:
		for name, v := range value {
			if below := cmp.Or(s.Properties[name], s.AdditionalProperties); below != nil {
				broken(below, v, out)
			}
		}
	}
}

// whole makes integers of the numbers of an input, as Kubernetes has them.
func whole(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := maps.Clone(object)
	for name, v := range out {
		if n, ok := v.(float64); ok {
			out[name] = int64(n)
		}
	}
	return out
}

// Each rule of the definition is broken by an input here or in the corpus of broken inputs,
// and the function refuses each input that breaks one.
func TestRulesAreEnforced(t *testing.T) {
	m := newMutator(t)
	told := map[string]bool{}
	try := func(what string, input any) {
		found := map[string]bool{}
		broken(definition.Exports(), input, found)
		if len(found) > 0 && len(m.function(input)) == 0 {
			t.Errorf("%s: the function accepts it, but these do not hold: %v", what, slices.Sorted(maps.Keys(found)))
		}
		maps.Copy(told, found)
	}
	_, all := m.input(t)
	for i := 0; i < len(all); i += proof.Step(8) {
		input, all := m.input(t)
		all[i].make()
		try(all[i].name, input)
	}
	paths, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, _ := documents(t, read(t, path))[0].(map[string]any)
		try(path, file["input"])
	}
	for _, body := range []string{
		"ttl: 25h", "sources: [{name: composite, apiVersion: v1, kind: ConfigMap}]",
		"generators: [{name: A, uuid: {}}]",
		"generators: [{name: a, sshKey: {type: ecdsa, bits: 2048}}]",
		"generators: [{name: a, uuid: {}, refreshPolicy: Periodic, refreshInterval: 59s}]",
		"generators: [{name: a, uuid: {}, refreshPolicy: Periodic, refreshInterval: 1h, gracePeriod: 16h}]",
		"generators: [{name: a, uuid: {}, gracePeriod: -1s}]",
		"generators: [{name: a, uuid: {}, refreshPolicy: Periodic, refreshInterval: 1h, rotationWindow: {schedule: 0 2 * * 6, duration: 59s}}]",
		"generators: [{name: a, certificate: {subject: {commonName: a}, duration: 59m, renewBefore: 4m}}]",
		"secrets: [{name: fromComposite/Secret/a, metadata: {name: a}, data: [{key: k, value: \"'v'\"}]}]",
		"secrets: [{name: a, data: [{key: k, value: \"'v'\"}]}]\nconfigMaps: [{name: a, data: [{key: k, value: \"'v'\"}]}]",
	} {
		try(body, documents(t, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+body)[0])
	}
	for _, rule := range texts(t) {
		if !told[rule] && proof.Whole() {
			t.Errorf("no input breaks rule %q", rule)
		}
	}
}

// Every bound of the definition is enforced, also those that no rule has.
func TestBoundsAreEnforced(t *testing.T) {
	m := newMutator(t)
	checked := 0
	refused := func(at, what string, put func(any), value, was any, input any) {
		put(value)
		if len(m.function(input)) == 0 {
			t.Errorf("%s: %s: the function accepts it", at, what)
		}
		put(was)
		checked++
	}
	input, _ := m.input(t)
	var walk func(s *definition.Schema, at string, value any, put func(any))
	walk = func(s *definition.Schema, at string, value any, put func(any)) {
		switch value := value.(type) {
		case string:
			if s.MaxLength != nil {
				refused(at, "too long", put, strings.Repeat("a", *s.MaxLength+1), value, input)
			}
			if s.MinLength != nil || s.Enum != nil {
				refused(at, "empty", put, "", value, input)
			}
			if s.Enum != nil || s.Pattern != nil {
				refused(at, "another word", put, "No Word", value, input)
			}
		case float64:
			if s.Minimum != nil {
				refused(at, "too small", put, *s.Minimum-1, value, input)
			}
			if s.Maximum != nil {
				refused(at, "too large", put, *s.Maximum+1, value, input)
			}
		case []any:
			if s.MinItems != nil {
				refused(at, "empty", put, []any{}, value, input)
			}
			if s.MaxItems != nil {
				refused(at, "too many", put, slices.Repeat(value, *s.MaxItems+1), value, input)
			}
			if s.ListType == "set" || s.ListType == "map" {
				refused(at, "twice", put, slices.Repeat(value, 2), value, input)
			}
			for i, v := range value {
				walk(s.Items, at+"/"+strconv.Itoa(i), v, func(v any) { value[i] = v })
			}
		case map[string]any:
			if s.MinProperties != nil {
				refused(at, "empty", put, map[string]any{}, value, input)
			}
			for _, name := range s.Required {
				was := value[name]
				delete(value, name)
				refused(at, "without "+name, func(any) {}, nil, nil, input)
				value[name] = was
			}
			for name, v := range value {
				if below := cmp.Or(s.Properties[name], s.AdditionalProperties); below != nil {
					walk(below, at+"/"+name, v, func(v any) { value[name] = v })
				}
			}
		}
	}
	walk(definition.Exports(), "", input, func(any) {})
	if checked < 300 {
		t.Errorf("want at least 300 bounds, got %d", checked)
	}
}
