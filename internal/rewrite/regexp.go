package rewrite

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"

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

func (r *Regexp) compile(path string) (func([]Key) ([]Key, *Failed), []Fault) {
	re, instructions, faults := compilePattern(path+".source", r.Source)
	if len(r.Target) > limits.RegexCharacters {
		faults = append(faults, Fault{path + ".target", fmt.Sprintf("has %d bytes, over the limit of %d", len(r.Target), limits.RegexCharacters)})
	}
	if re == nil {
		return nil, faults
	}
	faults = append(faults, checkReferences(path+".target", r.Target, re)...)
	replace := rename(path, func(k Key) (string, *Failed) { return re.ReplaceAllString(k.Name, r.Target), nil })
	return func(keys []Key) ([]Key, *Failed) {
		size := 0
		for _, k := range keys {
			size += len(k.Name)
		}
		if work := size * instructions; work > limits.RegexVisits {
			return nil, &Failed{Path: path, Reason: fmt.Sprintf("takes %d steps for all keys, over the limit of %d: simplify source, or export fewer keys", work, limits.RegexVisits)}
		}
		return replace(keys)
	}, faults
}

// compilePattern compiles a regular expression within the limits, and counts its
// instructions.
func compilePattern(path, source string) (*regexp.Regexp, int, []Fault) {
	switch n := utf8.RuneCountInString(source); {
	case n == 0:
		return nil, 0, []Fault{{path, "must be set: an empty regular expression matches before and after each character"}}
	case n > limits.RegexCharacters:
		return nil, 0, []Fault{{path, fmt.Sprintf("has %d characters, over the limit of %d", n, limits.RegexCharacters)}}
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, 0, []Fault{{path + position(source, faultOffset(source, err)), "cannot be compiled: " + syntaxMessage(err)}}
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, 0, []Fault{{path, "cannot be compiled: " + syntaxMessage(err)}}
	}
	if n := len(program.Inst); n > limits.RegexInstructions {
		return nil, 0, []Fault{{path, fmt.Sprintf("has %d instructions, over the limit of %d: repeat less in it", n, limits.RegexInstructions)}}
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, 0, []Fault{{path, "cannot be compiled: " + syntaxMessage(err)}}
	}
	return re, len(program.Inst), nil
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
