package exportstest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// A refusal adds what is wrong with a field of a test.
type refusal func(at, format string, args ...any)

// check returns what a schema cannot say about a test.
func check(t *ExportsTest) (wrong diagnostic.List) {
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
		for j, m := range test.Moments {
			field := fmt.Sprintf("%s.moments[%d]", at, j)
			test.checkMoment(j, field, refuse)
			if m.Expect == nil {
				continue
			}
			for k, text := range m.Expect.Assert {
				if _, d := compile(text); d != nil {
					d.Path = fmt.Sprintf("%s.expect.assert[%d]", field, k)
					wrong = append(wrong, d)
				}
			}
			m.Expect.check(field+".expect", refuse)
		}
	}
	return wrong
}

// checkMoment refuses a moment whose time or whose actions cannot be meant.
func (t *Test) checkMoment(i int, at string, refuse refusal) {
	m := t.Moments[i]
	switch {
	case !m.At.IsZero() && m.After.Duration != 0:
		refuse(at+".after", "cannot be set beside at: remove one of them")
	case m.After.Duration < 0:
		refuse(at+".after", "must not be negative")
	case !m.At.IsZero() && i > 0 && m.At.Before(t.timeOf(i-1)):
		refuse(at+".at", "is before the moment above, which is at %s", t.timeOf(i-1).UTC().Format(time.RFC3339))
	}
	for j, a := range m.Do {
		a.check(fmt.Sprintf("%s.do[%d]", at, j), refuse)
	}
}

func (e *Expectation) check(at string, refuse refusal) {
	for _, name := range slices.Sorted(maps.Keys(e.Objects)) {
		fields, field := e.Objects[name], fieldBelow(at+".objects", name)
		_, isMap := fields["exactly"].(map[string]any)
		switch {
		case fields["exactly"] != nil && (len(fields) > 1 || !isMap):
			refuse(field, "exactly must be an object, and the only field")
		case fields["absent"] != nil && (len(fields) > 1 || fields["absent"] != true):
			refuse(field, "absent must be true, and the only field")
		}
	}
	for _, list := range e.changes() {
		for i, item := range list.items {
			if nameOf(item) == "" {
				refuse(fmt.Sprintf("%s.%s[%d]", at, list.name, i),
					"must be a composition resource name, or {generation: admin/1}")
			}
		}
	}
}

// A changes is a list of objects that are compared with the moment above.
type changes struct {
	name  string
	items []any
}

func (e *Expectation) changes() []changes {
	return []changes{{"changed", e.Changed}, {"kept", e.Kept}, {"gone", e.Gone}}
}

// check refuses an action that cannot be meant.
func (a *Action) check(at string, refuse refusal) {
	n := 0
	for _, field := range reflect.ValueOf(*a).Fields() {
		if !field.IsZero() {
			n++
		}
	}
	switch {
	case n != 1:
		refuse(at, "must have one field, but has %d: write each action as an item of its own", n)
	case a.Late == "Secret":
		refuse(at, "late must not be Secret, because Crossplane reads Secrets from the API server")
	case a.Provider != nil:
		if _, _, ok := generatorOf(a.Provider.Accepts); !ok {
			refuse(at, "provider.accepts must be an output of a generator, for example candidate.admin.password")
		}
	}
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
	l, args := read(v), read(v).Get(overlap)
	of := args.Get("of").Text()
	atMost, err := time.ParseDuration(l.Get(refusedAtMost).Text())
	atLeast, wrong := time.ParseDuration(args.Get("atLeast").Text())
	switch {
	case len(l.Keys()) == 1 && err == nil:
		return law{name: refusedAtMost, limit: atMost}, ""
	case len(l.Keys()) == 1 && len(args.Keys()) == 2 && of != "" && wrong == nil:
		return law{overlap, of, atLeast}, ""
	}
	return law{}, "must be noLostValue, neverHalf, storedBeforeExport, overlap: {of: admin, atLeast: 24h}, or " +
		"refusedAtMost: 30s"
}

// assertCost is the limit of CEL's cost for one assertion. Tests come from pull requests.
const assertCost = 10_000_000

// environment is the language of assertions: that of expressions, with other variables.
var environment = sync.OnceValues(func() (*cel.Env, error) { //nolint:gochecknoglobals // made at most once
	names := cel.MapType(cel.StringType, cel.DynType)
	return cel.NewEnv(append(expression.Libraries(),
		cel.Variable("objects", names), cel.Variable("composite", cel.DynType), cel.Variable("conditions", names),
		cel.Variable("results", cel.ListType(cel.DynType)), cel.Variable("requirements", names),
		cel.Variable("now", cel.TimestampType), cel.Variable("previousMoment", cel.DynType),
	)...)
})

// compile compiles an assertion, or returns what is wrong with it.
func compile(text string) (cel.Program, *diagnostic.Diagnostic) {
	wrong := &diagnostic.Diagnostic{Rule: diagnostic.Expression}
	env, err := environment()
	if err != nil {
		wrong.Message = err.Error()
		return nil, wrong
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		wrong.Line, wrong.Column = first.Location.Line(), first.Location.Column()+1
		wrong.Message, _, _ = strings.Cut(first.Message, "\n")
		return nil, wrong
	}
	if t := ast.OutputType(); !t.IsExactType(types.BoolType) && !t.IsExactType(types.DynType) {
		wrong.Message = fmt.Sprintf("must be true or false, but is of type %s", t)
		return nil, wrong
	}
	program, err := env.Program(ast, cel.CostLimit(assertCost), cel.InterruptCheckFrequency(100))
	if err != nil {
		wrong.Message = err.Error()
		return nil, wrong
	}
	return program, nil
}

// assert evaluates an assertion of the current moment.
func (p *player) assert(ctx context.Context, i int, text string) {
	field := fmt.Sprintf("expect.assert[%d]", i)
	program, wrong := compile(text)
	if wrong != nil {
		p.fail(field, "%s", wrong.Message)
		return
	}
	variables := p.now().variables()
	variables["previousMoment"] = p.before().variables()
	switch v, _, err := program.ContextEval(ctx, variables); {
	case err != nil:
		why := err.Error()
		if key, isKey := strings.CutPrefix(why, "no such key: "); !p.mask.show && !(isKey && strings.Contains(text, key)) {
			why = "--show-secrets says why" // the error can quote a value
		}
		p.fail(field, "cannot be evaluated: %s\n- %s", why, p.clean(text))
	case v != types.True:
		p.fail(field, "is not true\n- %s", p.clean(text))
	}
}

// variables returns what assertions see of a moment.
func (s *snapshot) variables() map[string]any {
	return map[string]any{
		"objects": s.objects, "composite": s.composite, "conditions": s.conditions, "results": s.results,
		"requirements": s.requirements, "now": s.at,
	}
}
