package exportstest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

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
