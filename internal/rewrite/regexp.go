package rewrite

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/suggest"
)

// Regexp replaces what Source matches by Target: every match, anywhere in the
// name, as regexp.ReplaceAllString does.
type Regexp struct {
	// Source is a regular expression in RE2 syntax.
	Source string

	// Target may refer to groups of the source: $1 or ${1}, $name or ${name}, and
	// $0 for the whole match. $$ is a dollar. It may be empty.
	Target string
}

func (r *Regexp) compile(path string) (apply, []Fault) {
	p, faults := compilePattern(path+".source", r.Source)
	if len(r.Target) > limits.RegexCharacters {
		faults = append(faults, Fault{path + ".target", fmt.Sprintf("has %d bytes, over the limit of %d", len(r.Target), limits.RegexCharacters)})
	}
	if p == nil {
		return nil, faults
	}
	faults = append(faults, checkReferences(path+".target", r.Target, p.re)...)
	return rename(path, func(b *budget.Budget, k Key) (string, *Failed) {
		name, err := p.replaceAll(b, k.Name, r.Target)
		if err != nil {
			return "", spent(path, err)
		}
		return name, nil
	}), faults
}

// A Pattern is a regular expression within the limits.
type Pattern struct {
	re           *regexp.Regexp
	instructions int
}

// String is its source.
func (p *Pattern) String() string { return p.re.String() }

// stepsPerUnit are how many steps of a regular expression take as long as a unit of the
// budget has: one for each instruction and character.
const stepsPerUnit = 64

// search is what looking for one match in a text takes at worst.
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

// matchesAtOnce are looked for before it is seen whether there are more: so many are
// paid for at worst that were not there to be found.
const matchesAtOnce = 8

// replaceAll is ReplaceAllString of package regexp, which looks for a match again behind
// each: a pattern that looks at all that follows takes the square of the text, or the
// square of its matches. It is paid for by matches, and never begun if it could take more
// than may be spent.
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
		if len(out) > maxBytes {
			break // which is refused
		}
		out = p.re.ExpandString(append(out, text[end:m[0]]...), by, text, m)
		end = m[1]
	}
	if err := b.Spend(budget.Counted(0, len(out))); err != nil {
		return "", err
	}
	return string(append(out, text[end:]...)), nil
}

// compilePattern compiles a regular expression within the limits, and counts its
// instructions.
func compilePattern(path, source string) (*Pattern, []Fault) {
	switch n := utf8.RuneCountInString(source); {
	case n == 0:
		return nil, []Fault{{path, "must be set: an empty regular expression matches before and after each character"}}
	case n > limits.RegexCharacters:
		return nil, []Fault{{path, fmt.Sprintf("has %d characters, over the limit of %d", n, limits.RegexCharacters)}}
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, []Fault{{path + position(source, faultOffset(source, err)), "cannot be compiled: " + syntaxMessage(err)}}
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, []Fault{{path, "cannot be compiled: " + syntaxMessage(err)}}
	}
	if n := len(program.Inst); n > limits.RegexInstructions {
		return nil, []Fault{{path, fmt.Sprintf("has %d instructions, over the limit of %d: repeat less in it", n, limits.RegexInstructions)}}
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, []Fault{{path, "cannot be compiled: " + syntaxMessage(err)}}
	}
	return &Pattern{re, len(program.Inst)}, nil
}

func syntaxMessage(err error) string {
	return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
}

// faultOffset finds where a regular expression is wrong. The parser says only
// what: it is at the end of the shortest beginning that has the same fault. A
// fault of the whole, as a parenthesis that stands alone, is behind the longest
// beginning that has none.
func faultOffset(source string, err error) int {
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
		case want.Expr != source && errors.As(err, &got) && *got == *want:
			return i - len(want.Expr)
		}
	}
	if want.Expr != source {
		return len(source) - len(want.Expr)
	}
	return good
}

// checkReferences refuses references to groups that the source does not have:
// they would be replaced by nothing. Source of the algorithm: expand and extract
// of Go's regexp package, which keep a dollar that refers to nothing as it is.
func checkReferences(path, target string, re *regexp.Regexp) []Fault {
	var faults []Fault
	for i := 0; i < len(target); {
		if target[i] != '$' {
			i++
			continue
		}
		if strings.HasPrefix(target[i+1:], "$") {
			i += 2
			continue
		}
		name, length := reference(target[i+1:])
		if name != "" && !hasGroup(re, name) {
			faults = append(faults, Fault{path + position(target, i), missingGroup(re, name)})
		}
		i += 1 + length
	}
	return faults
}

// reference returns the name that stands behind a dollar, or nothing, and how
// many bytes it takes.
func reference(s string) (name string, length int) {
	inner, braces := strings.CutPrefix(s, "{")
	end := strings.IndexFunc(inner, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	if end < 0 {
		end = len(inner)
	}
	switch {
	case end == 0:
		return "", 0
	case !braces:
		return inner[:end], end
	case strings.HasPrefix(inner[end:], "}"):
		return inner[:end], end + len("{}")
	}
	return "", 0
}

func hasGroup(re *regexp.Regexp, name string) bool {
	if strings.Trim(name, "0123456789") != "" || len(name) > 1 && name[0] == '0' {
		return re.SubexpIndex(name) >= 0
	}
	n := 0
	for _, digit := range name {
		n = min(10*n+int(digit-'0'), limits.RegexCharacters) // no source has that many
	}
	return n <= re.NumSubexp()
}

// missingGroup says what is wrong with a reference, and what was meant: the
// longest beginning of the name that is a group.
func missingGroup(re *regexp.Regexp, name string) string {
	text := fmt.Sprintf("$%s means the group named %q, which source does not have", name, name)
	for i := len(name) - 1; i > 0; i-- {
		if hasGroup(re, name[:i]) {
			return fmt.Sprintf("%s, and gives nothing: write ${%s}%s for the group %s and the text %s", text, name[:i], name[i:], name[:i], name[i:])
		}
	}
	text += ", and gives nothing"
	var names []string
	for _, n := range re.SubexpNames() {
		if n != "" {
			names = append(names, n)
		}
	}
	if meant := suggest.Nearest(name, names); meant != "" {
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
