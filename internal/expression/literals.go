package expression

import (
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// literalValidator refuses literals that can only fail, or lose something: a
// regular expression that does not compile or is too complex, a %d for a double,
// a map that has a key twice.
type literalValidator struct{}

// Name of the validator, as cel-go wants it.
func (literalValidator) Name() string { return "export.literals" }

// Validate reports at the positions of the literals.
func (literalValidator) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, iss *cel.Issues) {
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.MapKind {
			validateMap(e.AsMap(), iss)
		}
		if e.Kind() != ast.CallKind {
			return
		}
		c := e.AsCall()
		args := c.Args()
		if c.IsMemberFunction() {
			args = append([]ast.Expr{c.Target()}, args...)
		}
		switch c.FunctionName() {
		case "matches", "regex.replace", "regex.extract", "regex.extractAll":
			validatePattern(args, iss)
		case "format":
			validateFormat(args, iss)
		}
	}))
}

func literalString(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

func validatePattern(args []ast.Expr, iss *cel.Issues) {
	if len(args) < 2 {
		return
	}
	pattern, ok := literalString(args[1])
	if !ok {
		return
	}
	if len(pattern) > limits.RegexCharacters {
		iss.ReportErrorAtID(args[1].ID(), "regular expression has %d characters, over the limit of %d", len(pattern), limits.RegexCharacters)
		return
	}
	n, err := regexInstructions(pattern)
	if err != nil {
		iss.ReportErrorAtID(args[1].ID(), "invalid regular expression: %v", err)
		return
	}
	if n > limits.RegexInstructions {
		iss.ReportErrorAtID(args[1].ID(), "regular expression has %d instructions, over the limit of %d", n, limits.RegexInstructions)
	}
}

var clause = regexp.MustCompile(`%%|%(\.[0-9]+)?[a-zA-Z]`)

// validateFormat refuses a literal double under %d. Whole numbers of the data
// are ints, so that such a literal is a slip.
func validateFormat(args []ast.Expr, iss *cel.Issues) {
	if len(args) != 2 || args[1].Kind() != ast.ListKind {
		return
	}
	format, ok := literalString(args[0])
	if !ok {
		return
	}
	values := args[1].AsList().Elements()
	for _, c := range clause.FindAllString(format, -1) {
		if c == "%%" {
			continue
		}
		if len(values) == 0 {
			return
		}
		v := values[0]
		values = values[1:]
		if !strings.HasSuffix(c, "d") || v.Kind() != ast.LiteralKind {
			continue
		}
		if _, ok := v.AsLiteral().(types.Double); ok {
			iss.ReportErrorAtID(v.ID(), "error during formatting: decimal clause can only be used on integers")
		}
	}
}

func validateMap(m ast.MapExpr, iss *cel.Issues) {
	seen := map[string]bool{}
	for _, x := range m.Entries() {
		k, ok := literalString(x.AsMapEntry().Key())
		if ok && seen[k] {
			iss.ReportErrorAtID(x.AsMapEntry().Key().ID(), "key %q is in the map twice", k)
		}
		seen[k] = seen[k] || ok
	}
}

// Keys are those that the expression spells, if it is a map literal: they are in
// its result for sure, but for those of optional entries, which are left out
// here.
func (x *Expression) Keys() []string {
	if x.ast.Expr().Kind() != ast.MapKind {
		return nil
	}
	var out []string
	for _, e := range x.ast.Expr().AsMap().Entries() {
		if k, ok := literalString(e.AsMapEntry().Key()); ok && !e.AsMapEntry().IsOptional() {
			out = append(out, k)
		}
	}
	return out
}
