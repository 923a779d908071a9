package exportstest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
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
	program, err := programOf(env, ast)
	if err != nil {
		wrong.Message = err.Error()
		return nil, wrong
	}
	return program, nil
}

func programOf(env *cel.Env, ast *cel.Ast) (cel.Program, error) {
	return env.Program(ast, cel.CostLimit(assertCost), cel.InterruptCheckFrequency(100))
}

// operands returns the values that an assertion compares, as the end of a message. Those from objects can be a part of
// a secret.
func (p *player) operands(ctx context.Context, text string, variables map[string]any) (out string) {
	env, err := environment()
	if err != nil {
		return ""
	}
	whole, _ := env.Compile(text)
	expr := whole.NativeRep().Expr()
	if expr.Kind() != celast.CallKind || !strings.HasPrefix(expr.AsCall().FunctionName(), "_") {
		return ""
	}
	for _, arg := range expr.AsCall().Args() {
		source, err := cel.ExprToString(arg, whole.NativeRep().SourceInfo())
		part, issues := env.Compile(source)
		if err != nil || issues.Err() != nil || arg.Kind() == celast.LiteralKind {
			continue
		}
		program, err := programOf(env, part)
		if err != nil {
			continue
		}
		switch v, _, err := program.ContextEval(ctx, variables); v.(type) {
		case types.String, types.Int, types.Double, types.Bool, types.Timestamp:
			if err == nil {
				out += fmt.Sprintf("\n+ %s is %s", p.clean(source), p.value(fmt.Sprint(v.Value()), strings.Contains(source, "objects")))
			}
		}
	}
	return out
}

// assert evaluates an assertion of the current moment.
func (p *player) assert(ctx context.Context, i int, text string) {
	field := fmt.Sprintf("expect.assert[%d]", i)
	program, wrong := compile(text)
	if wrong != nil {
		p.fail(field, "%s", wrong.Message)
		return
	}
	now := p.moments[len(p.moments)-1]
	variables := now.variables()
	variables["previousMoment"] = newSnapshot("", time.Time{}).variables()
	if n := len(p.moments); n > 1 {
		variables["previousMoment"] = p.moments[n-2].variables()
	}
	switch v, _, err := program.ContextEval(ctx, variables); {
	case err != nil:
		p.fail(field, "cannot be evaluated: %s\n- %s", p.reason(err, text), p.clean(text))
	case v != types.True:
		p.fail(field, "is not true\n- %s%s", p.clean(text), p.operands(ctx, text, variables))
	}
}

// withoutValue matches errors of CEL that quote nothing, or a key.
var withoutValue = lazy.MustCompile(`^(?:no such key: (.+)|division by zero|no such overload.*|index out of bounds: \d+)$`)

// reason returns why an assertion cannot be evaluated. CEL's messages can quote a value, so only those without one are
// told, and keys that are in the assertion.
func (p *player) reason(err error, text string) string {
	if m := withoutValue.FindStringSubmatch(err.Error()); p.mask.show || m != nil && strings.Contains(text, m[1]) {
		return err.Error()
	}
	return "--show-secrets says why"
}

// variables returns what assertions see of a moment.
func (s *snapshot) variables() map[string]any {
	return map[string]any{
		"objects": s.objects, "composite": s.composite, "conditions": s.conditions, "results": s.results,
		"requirements": s.requirements, "now": s.at,
	}
}
