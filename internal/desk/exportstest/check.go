package exportstest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// check returns what a schema cannot say about a test.
func check(t *ExportsTest) diagnostic.List {
	var wrong diagnostic.List
	refuse := func(at, format string, args ...any) {
		wrong = append(wrong, &diagnostic.Diagnostic{Path: at, Rule: diagnostic.Input, Message: fmt.Sprintf(format, args...)})
	}
	names := map[string]int{}
	for i := range t.Spec.Tests {
		test, at := &t.Spec.Tests[i], fmt.Sprintf("spec.tests[%d]", i)
		if other, twice := names[test.Name]; twice {
			refuse(at+".name", "is also the name of spec.tests[%d]: rename one of them", other)
		}
		names[test.Name] = i
		for j, v := range test.Always {
			if _, why := parseLaw(v); why != "" {
				refuse(fmt.Sprintf("%s.always[%d]", at, j), "%s", why)
			}
		}
		for j := range test.Moments {
			m, field := &test.Moments[j], fmt.Sprintf("%s.moments[%d]", at, j)
			switch {
			case !m.At.IsZero() && m.After.Duration != 0:
				refuse(field+".after", "cannot be set beside at: remove one of them")
			case m.After.Duration < 0:
				refuse(field+".after", "must not be negative")
			case !m.At.IsZero() && j > 0 && m.At.Before(test.timeOf(j-1)):
				refuse(field+".at", "is before the moment above, which is at %s", test.timeOf(j-1).UTC().Format(time.RFC3339))
			}
			for k := range m.Do {
				if why := m.Do[k].wrong(); why != "" {
					refuse(fmt.Sprintf("%s.do[%d]", field, k), "%s", why)
				}
			}
			wrong = append(wrong, checkExpectation(field+".expect", m.Expect)...)
		}
	}
	return wrong
}

func checkExpectation(at string, e *Expectation) (wrong diagnostic.List) {
	if e == nil {
		return nil
	}
	for i, text := range e.Assert {
		if _, d := compile(text); d != nil {
			d.Path = fmt.Sprintf("%s.assert[%d]", at, i)
			wrong = append(wrong, d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Objects)) {
		fields, why := e.Objects[name], ""
		_, isMap := fields["exactly"].(map[string]any)
		switch {
		case fields["exactly"] != nil && (len(fields) > 1 || !isMap):
			why = "exactly must be an object, and the only field"
		case fields["absent"] != nil && (len(fields) > 1 || fields["absent"] != true):
			why = "absent must be true, and the only field"
		}
		if why != "" {
			wrong = append(wrong, &diagnostic.Diagnostic{Path: fieldBelow(at+".objects", name), Rule: diagnostic.Input,
				Message: why})
		}
	}
	for _, l := range []struct {
		name  string
		items []any
	}{{"changed", e.Changed}, {"kept", e.Kept}, {"gone", e.Gone}} {
		for i, item := range l.items {
			if nameOf(item) == "" {
				wrong = append(wrong, &diagnostic.Diagnostic{
					Path: fmt.Sprintf("%s.%s[%d]", at, l.name, i), Rule: diagnostic.Input,
					Message: "must be a composition resource name, or {generation: admin/1}",
				})
			}
		}
	}
	return wrong
}

// wrong returns what is wrong with an action, or nothing.
func (a *Action) wrong() string {
	n := 0
	for _, field := range reflect.ValueOf(*a).Fields() {
		if !field.IsZero() {
			n++
		}
	}
	if n != 1 {
		return fmt.Sprintf("must have one field, but has %d: write each action as an item of its own", n)
	}
	if a.Late == "Secret" {
		return "late must not be Secret, because Crossplane reads Secrets from the API server"
	}
	if a.Provider != nil {
		if _, _, ok := generatorOf(a.Provider.Accepts); !ok {
			return "provider.accepts must be an output of a generator, for example candidate.admin.password"
		}
	}
	return ""
}

// A law holds at each write.
type law struct {
	name      string
	generator string        // of overlap
	limit     time.Duration // of overlap and refusedAtMost
}

// The names of laws.
const (
	noLostValue        = "noLostValue"
	neverHalf          = "neverHalf"
	storedBeforeExport = "storedBeforeExport"
	overlap            = "overlap"
	refusedAtMost      = "refusedAtMost"
)

// parseLaw returns a law, or what is wrong with it.
func parseLaw(v any) (law, string) {
	known := []string{noLostValue, neverHalf, storedBeforeExport, overlap, refusedAtMost}
	if name, ok := v.(string); ok {
		if slices.Contains(known[:3], name) {
			return law{name: name}, ""
		}
		if !slices.Contains(known, name) {
			return law{}, "is an unknown law" + suggest.ThereAre(name, known, "")
		}
	}
	fields, _ := v.(map[string]any)
	if text, ok := fields[refusedAtMost].(string); ok && len(fields) == 1 {
		if d, err := time.ParseDuration(text); err == nil {
			return law{name: refusedAtMost, limit: d}, ""
		}
	}
	if args, ok := fields[overlap].(map[string]any); ok && len(fields) == 1 && len(args) == 2 {
		of, _ := args["of"].(string)
		text, _ := args["atLeast"].(string)
		if d, err := time.ParseDuration(text); err == nil && of != "" {
			return law{overlap, of, d}, ""
		}
	}
	return law{}, "must be noLostValue, neverHalf, storedBeforeExport, overlap: {of: admin, atLeast: 24h}, or " +
		"refusedAtMost: 30s"
}
