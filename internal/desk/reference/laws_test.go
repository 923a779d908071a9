package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
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
	input := documents(t, text(t, "testdata/full.yaml"))[0]
	m := &mutator{samples: map[string]any{}, exports: compiled(t, exportsFile), function: takes(t)}
	if err := json.Unmarshal([]byte(text(t, published+exportsFile)), &m.schema); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.full, err = json.Marshal(input); err != nil {
		t.Fatal(err)
	}
	sample("", input, m.samples)
	// The other kind of export has each field that one kind cannot have beside another field.
	for at, value := range maps.Clone(m.samples) {
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

// agree fails if the schema refuses an input that the function accepts, or if it accepts a field or a type that the
// function refuses.
func (m *mutator) agree(t *testing.T, input any, what string) {
	t.Helper()
	fields, _ := input.(map[string]any)
	s, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	_, _, structural := strict.Decode(s, nil)
	structural = slices.DeleteFunc(structural, func(d *diagnostic.Diagnostic) bool {
		return !strings.HasPrefix(d.Message, "is an unknown field") && !strings.Contains(d.Message, ", but is ")
	})
	schema := refused(m.exports, input)
	if len(structural) > 0 && schema == nil {
		t.Errorf("%s: the function refuses it, and the schema does not: %v", what, structural)
	}
	if len(schema) > 0 && len(m.function(input)) == 0 {
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
			if s.Enum != nil || s.Pattern != "" {
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
