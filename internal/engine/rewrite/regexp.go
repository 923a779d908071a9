package rewrite

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// compileRegexp returns the rule that replaces each match, as regexp.ReplaceAllString does.
func compileRegexp(path string, r *v1beta1.RewriteRegExp) (Renamer, diagnostic.List) {
	p, all := CompilePattern(path+".source", r.Source)
	if p == nil {
		return nil, all
	}
	target := ptr.Deref(r.Target, "")
	if why := p.checkReferences(target); why != "" {
		return nil, wrong(path+".target", "%s", why)
	}
	return func(b *budget.Budget, name string) (string, error) { return p.replaceAll(b, name, target) }, nil
}

// A Pattern is a regular expression within the limits.
type Pattern struct {
	re           *regexp.Regexp
	instructions int
}

// String returns its source.
func (p *Pattern) String() string { return p.re.String() }

// stepsPerUnit is the number of steps of a regular expression that take as long as one unit of the
// budget. Each instruction takes one step for each character.
const stepsPerUnit = 64

// search returns the highest cost of looking for one match in a text.
func (p *Pattern) search(text string) int64 {
	return 1 + int64(len(text)+1)*int64(p.instructions)/stepsPerUnit
}

// Match reports whether a text has a match.
func (p *Pattern) Match(b *budget.Budget, text string) (bool, error) {
	if err := b.Spend(p.search(text)); err != nil {
		return false, err
	}
	return p.re.MatchString(text), nil
}

// matchesAtOnce is the number of matches that are searched for first. The budget must allow for all of
// them, even if there are fewer.
const matchesAtOnce = 8

// replaceAll is like ReplaceAllString of package regexp, which searches again after each match. If a
// pattern reads the whole rest of the text, the cost grows with the square of the text. Each match
// spends the budget. A search does not begin if it could exceed the budget.
func (p *Pattern) replaceAll(b *budget.Budget, text, by string) (string, error) {
	search := p.search(text)
	var matches [][]int
	for most := matchesAtOnce; ; most *= matchesAtOnce {
		if err := b.Can(search * int64(most)); err != nil {
			return "", err
		}
		matches = p.re.FindAllStringSubmatchIndex(text, most)
		if err := b.Spend(search * int64(len(matches)+1)); err != nil {
			return "", err
		}
		if len(matches) < most {
			break
		}
	}
	var out []byte
	end := 0
	for _, m := range matches {
		out = p.re.ExpandString(append(out, text[end:m[0]]...), by, text, m)
		if end = m[1]; len(out) > maxName {
			return "", errTooLong
		}
	}
	return short(string(append(out, text[end:]...)))
}

// CompilePattern compiles a regular expression that is matched against names. It has the same limits as
// the expressions of rules. path is the path of its diagnostics.
func CompilePattern(path, source string) (*Pattern, diagnostic.List) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, wrong(path, "cannot be compiled: %s", syntaxMessage(err))
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, wrong(path, "cannot be compiled: %s", syntaxMessage(err))
	}
	if n := len(program.Inst); n > limits.RegexInstructions {
		const text = "has %d instructions, over the limit of %d: repeat less in it"
		return nil, wrong(path, text, n, limits.RegexInstructions)
	}
	return &Pattern{regexp.MustCompile(source), len(program.Inst)}, nil // which has parsed it
}

func syntaxMessage(err error) string {
	var wrong *syntax.Error
	if errors.As(err, &wrong) && wrong.Code == syntax.ErrInvalidPerlOp {
		return wrong.Expr + " is not part of RE2: leave it out, and write a pattern of what matches, " +
			"and to exclude keys, list the others, as in ^(username|host)$"
	}
	return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
}

// reference is a dollar, or a reference to the group $name or ${name}.
var reference = lazy.MustCompile(`\$\$|\$([\p{L}\p{Nd}_]+)|\$\{([\p{L}\p{Nd}_]+)\}`)

// checkReferences returns why a target is refused: it refers to a group that the pattern does not have, and would be
// replaced by nothing. Go's regexp package keeps a dollar sign that is not part of a reference.
func (p *Pattern) checkReferences(target string) string {
	for _, m := range reference().FindAllStringSubmatch(target, -1) {
		name := m[1] + m[2]
		if name == "" || p.hasGroup(name) {
			continue
		}
		text := fmt.Sprintf("$%s refers to the group %[1]q, which source does not have, "+
			"and is replaced by nothing", name)
		for i := len(name) - 1; i > 0; i-- { // the longest prefix is the likely group
			if p.hasGroup(name[:i]) {
				return fmt.Sprintf("%s: write ${%[2]s}%[3]s for the group %[2]s and the text %[3]s",
					text, name[:i], name[i:])
			}
		}
		return text + ": write ( ) around a part of source, or $$ for a dollar"
	}
	return ""
}

func (p *Pattern) hasGroup(name string) bool {
	if n, err := strconv.Atoi(name); err == nil && (name[0] != '0' || name == "0") {
		return n <= p.re.NumSubexp()
	}
	return slices.Contains(p.re.SubexpNames(), name)
}
