package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
	function func(any) field.ErrorList
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
	"there is no generator", "names a certificate that is no CA", "must be one of allow.secrets", "secret data, which flows",
	"must be set for the environment", "over the length of", "there shall be 4 symbols", "must be an object whose values are strings",
	`resource\.manifest\.metadata\.\w+: .*must not be set in a manifest`,
}, "|"))

// agree fails unless the schema and the function both take an input, or both refuse it.
func (m *mutator) agree(t *testing.T, input any, what string) {
	t.Helper()
	faults := m.function(input)
	structural := slices.ContainsFunc(faults, func(f *field.Error) bool { return !beyond.MatchString(f.Error()) })
	schema := refused(m.exports, input)
	if structural && schema == nil {
		t.Errorf("%s: the function refuses it, and the schema does not: %v", what, faults)
	}
	if len(schema) > 0 && len(faults) == 0 {
		t.Errorf("%s: the schema refuses it, and the function does not: %v", what, schema)
	}
}

// The full input has no fault, and every field.
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
	for i := range all {
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
