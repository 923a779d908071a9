package rewrite

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// Regexp replaces each match of Source by Target, anywhere in the name, as regexp.ReplaceAllString does.
type Regexp struct {
	// Source is a regular expression in RE2 syntax.
	Source string

	// Target may refer to groups of the source with $1 or ${1} and $name or ${name}, and to the whole
	// match with $0. $$ is a dollar sign. Target may be empty.
	Target string
}

func (r *Regexp) compile(path string) (apply, diagnostic.List) {
	p, all := CompilePattern(path+".source", r.Source)
	if p == nil {
		return nil, all
	}
	all = append(all, checkReferences(path+".target", r.Target, p.re)...)
	return rename(path, func(b *budget.Budget, k Key) (string, *Failed) {
		name, err := p.replaceAll(b, k.Name, r.Target)
		if err != nil {
			return "", spent(path, err)
		}
		return name, nil
	}), all
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
	if len(matches) == 0 {
		return text, nil
	}
	out, end := make([]byte, 0, len(text)+len(by)), 0
	for _, m := range matches {
		out = p.re.ExpandString(append(out, text[end:m[0]]...), by, text, m)
		end = m[1]
	}
	if err := b.Spend(budget.Counted(0, len(out))); err != nil {
		return "", err
	}
	return string(append(out, text[end:]...)), nil
}

// CompilePattern compiles a regular expression that is matched against names. It has the same limits as
// the expressions of rules. path is the path of its diagnostics.
func CompilePattern(path, source string) (*Pattern, diagnostic.List) {
	refuse := func(format string, args ...any) (*Pattern, diagnostic.List) {
		return nil, diagnostic.List{wrong(path, format, args...)}
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		at := errorOffset(source, err)
		return nil, diagnostic.List{wrongAt(path, source, at, "cannot be compiled: %s", syntaxMessage(err))}
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return refuse("cannot be compiled: %s", syntaxMessage(err))
	}
	if n := len(program.Inst); n > limits.RegexInstructions {
		return refuse("has %d instructions, over the limit of %d: repeat less in it", n, limits.RegexInstructions)
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

// errorOffset finds the position of an error in a regular expression, because the parser does not report it. The
// position is the end of the shortest prefix that has the same error. If only the whole expression has the error,
// for example an unmatched parenthesis, it is after the longest prefix without an error.
func errorOffset(source string, err error) int {
	var want *syntax.Error
	if !errors.As(err, &want) {
		return 0
	}
	good := 0
	for i := range source {
		var got *syntax.Error
		_, err := syntax.Parse(source[:i], syntax.Perl)
		switch {
		case err == nil:
			good = i
		case errors.As(err, &got) && *got == *want:
			return i - len(want.Expr)
		}
	}
	if want.Expr != source {
		return len(source) - len(want.Expr)
	}
	return good
}

// checkReferences refuses references to groups that the source does not have, because they would be replaced by
// nothing. The algorithm follows expand and extract of Go's regexp package, which keep a dollar sign that is not
// part of a reference.
func checkReferences(path, target string, re *regexp.Regexp) diagnostic.List {
	var all diagnostic.List
	for _, m := range reference.FindAllStringSubmatchIndex(target, -1) {
		for _, group := range [][]int{m[2:4], m[4:6]} {
			if group[0] < 0 {
				continue
			}
			if name := target[group[0]:group[1]]; !hasGroup(re, name) {
				all = append(all, wrongAt(path, target, m[0], "%s", missingGroup(re, name)))
			}
		}
	}
	return all
}

// reference is a dollar, or a reference to the group $name or ${name}.
var reference = lazy.MustCompile(`\$\$|\$([\p{L}\p{Nd}_]+)|\$\{([\p{L}\p{Nd}_]+)\}`)

func hasGroup(re *regexp.Regexp, name string) bool {
	if strings.Trim(name, "0123456789") != "" || len(name) > 1 && name[0] == '0' {
		return slices.Contains(re.SubexpNames(), name)
	}
	n := 0
	for _, digit := range name {
		n = min(10*n+int(digit-'0'), limits.RegexCharacters) // no source has that many
	}
	return n <= re.NumSubexp()
}

// missingGroup returns the message for a reference to a missing group. It suggests the longest prefix of the name
// that is a group.
func missingGroup(re *regexp.Regexp, name string) string {
	text := fmt.Sprintf("$%s refers to the group %q, which source does not have", name, name)
	for i := len(name) - 1; i > 0; i-- {
		if hasGroup(re, name[:i]) {
			return fmt.Sprintf("%s, and is replaced by nothing: write ${%[2]s}%[3]s for the group %[2]s and the text %[3]s",
				text, name[:i], name[i:])
		}
	}
	text += ", and is replaced by nothing"
	if meant := suggest.Nearest(name, re.SubexpNames()); meant != "" {
		return text + suggest.DidYouMean("${"+meant+"}")
	}
	switch n := re.NumSubexp(); n {
	case 0:
		return text + ": source has no group; write ( ) around a part of it, or $$ for a dollar"
	case 1:
		return text + ": source has one group, $1"
	default:
		return fmt.Sprintf("%s: source has the groups $1 to $%d", text, n)
	}
}
