package expression

import (
	"cmp"
	"fmt"
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
		iss.ReportErrorAtID(args[1].ID(), "is no regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
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
			iss.ReportErrorAtID(v.ID(), "%%d takes whole numbers, and this is a double: write %%f, or wrap it in int(...)")
		}
	}
}

// Texts of CEL's own validator of format.
var (
	tooManyValues = regexp.MustCompile(`^too many arguments supplied to string\.format \(expected (\d+), got (\d+)\)$`)
	noClause      = regexp.MustCompile(`unrecognized formatting clause "(.)"$`)
	notForClause  = regexp.MustCompile(`^error during formatting: (.*) clause can only be used on (.*), was given (.*)$`)
)

// clauses of format, by how CEL's validator calls them.
var clauses = map[string]string{"decimal": "%d", "fixed-point": "%f", "scientific": "%e", "binary": "%b", "octal": "%o", "hex": "%x", "string": "%s"} //nolint:gochecknoglobals // a table

// explainLiteral says in words what CEL's own validators say.
func explainLiteral(said string) string {
	if m := tooManyValues.FindStringSubmatch(said); m != nil {
		return fmt.Sprintf("format has %s values for %s %% in its text: write one %%s for each", m[2], m[1])
	}
	if m := noClause.FindStringSubmatch(said); m != nil {
		return fmt.Sprintf("format has no %%%s: write %%s for any value, %%d for whole numbers, and %%%% for a percent sign", m[1])
	}
	if m := notForClause.FindStringSubmatch(said); m != nil {
		name := cmp.Or(clauses[m[1]], "a "+m[1]+" clause")
		return fmt.Sprintf("%s takes %s, and this is %s: write %%s, or convert it", name, m[2], withArticle(m[3]))
	}
	if strings.HasPrefix(said, "index ") && strings.HasSuffix(said, " out of range") {
		return "format has fewer values than there are % in its text: write one value for each, and %% for a percent sign"
	}
	return said
}

func validateMap(m ast.MapExpr, iss *cel.Issues) {
	seen := map[string]bool{}
	for _, x := range m.Entries() {
		k, ok := literalString(x.AsMapEntry().Key())
		if ok && seen[k] {
			iss.ReportErrorAtID(x.AsMapEntry().Key().ID(), "key %q is in the map twice: keep one of them", k)
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
