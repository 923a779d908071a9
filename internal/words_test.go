package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The text of the project is plain English. This file finds patterns that are not, and says what to write instead. If a
// pattern matches a text that is plain English, correct the pattern.

// A wordPattern is a pattern that the text of the project avoids. In the regular expressions, a
// space is any white space, and END is the end of a sentence.
type wordPattern struct {
	find  string // what not to write
	but   string // a match of find that also matches but is plain English
	write string // what to write instead
}

var wordPatterns = map[string]wordPattern{
	"for meaning because": {
		find: `(?:[,;:)]|[.]) [Ff]or ` +
			`(?:nobody|nothing|none|it|its|they|their|there|this|that|these|those|the|a|an|each|` +
			`every|one|both|all|only|some|no|such|which|what|who)\b[^,.;:()]{0,60}? ` +
			`(?:is|are|was|were|has|have|does|do|can|cannot|may|must|would|could|` +
			`knows?|needs?|comes?|returns?|holds?)\b`,
		but:   ` (?:that|which|who|whose|if|when|where|while|whether|how|what|to)\b`,
		write: "because",
	},
	"has to be": {
		find:  `\b(?:(?:not )?(?:has|have|had) to be|(?:is|are|was|were) to be|shall)\b`,
		but:   `\bnot have to be`,
		write: "must be, must",
	},
	"nobody": {
		find:  `\b(?:[Nn]obody|[Aa]nybody|[Nn]o one|[Nn]o-one)\b`,
		write: `the passive, or the subject that you mean: "the key is not listed"`,
	},
	"too at the end": {
		find:  `(?:, (?:too|as well)\b|\b(?:too|as well)(?:[:,)]|END))`,
		but:   `as well as`,
		write: `"also" before the verb`,
	},
	"a clause with what or who as the subject": {
		find: `(?:(?:START|[.;:] )What [^ .;:?]+ ` +
			`[^.;:?]*?\b(?:is|are|was|were|has|have|can|cannot|must|may|stays?|does|do|` +
			`becomes?|comes?|goes|waits?)\b|\bwhat (?:is|are|was|were) [a-z-]+ (?:is|are|was|were|has|stays|waits)\b|` +
			`(?:START|[.;:] )Who [^.;:?]+END|\b[Ww]hoever\b|\bwho writes? the composite\b)`,
		but:   `(?:that|which|who|where|there|it|they) (?:is|are|has|have|was|were|can|cannot|must|may)$`,
		write: `a noun as the subject: "Missing inputs are waited for."`,
	},
	"stands, lies": {
		find:  `\b(?:stands?|stood|standing|lies|lie|lay)\b(?: for|-)?`,
		but:   `(?:stands? for|-)$`,
		write: "is",
	},
	"behind for order": {
		find:  `\bbehind(?: (?:a|an|the) [a-z]+)?`,
		but:   `behind (?:a|an|the) (?:proxy|balancer|load|ingress|flag)`,
		write: "after, below, the cause of",
	},
	"is of": {
		find:  `\b(?:is|are|was|were) (?:the ones? )?of(?: [a-z]+)?\b`,
		but:   ` of (?:type|kind|this|that|these|another|the|a|one|no|use|any)$`,
		write: "belongs to, is used by, comes from",
	},
	"adverbs at the end": {
		find:  `\b(?:by now|as yet|by chance)\b|, else\b|\b[a-z]+ else(?:[:)]|END)`,
		but:   `(?:nothing|anything|everything|something|someone|anyone|everyone|somewhere|anywhere|what|who|or) else`,
		write: "now, yet, randomly; otherwise, at the start",
	},
	"inversions": {
		find: `\b(?:[Ss]o|[Nn]or|[Nn]either) ` +
			`(?:is|are|does|do|did|was|were|can|could|has|have|had|will|may|must)\b(?: not)?`,
		but:   `so do not`,
		write: "a full sentence",
	},
	"that is none": {
		find:  `\b(?:that|which) (?:is|are) none\b|\bno half of\b|\ball else\b`,
		write: "name the thing; everything else",
	},
	"metaphors": {
		find:  `(?:[Pp]ackage )?\b(?:rooms?|houses?|walls?|worlds?)\b(?:[ -]clock)?`,
		but:   `wall[ -]clock|[Pp]ackage world`,
		write: "package, input, boundary, space, scope",
	},
	"tenant": {
		find:  `\b[Tt]enants?\b`,
		write: "composite author",
	},
	"wish, held back": {
		find:  `\b(?:[Ww]ish(?:es|ed)?|(?:held|hold|holds) back)\b`,
		write: "export; kept",
	},
	"fault, finding": {
		find:  `\b(?:[Ff]aults?|[Ff]indings|(?:a|the|each|this|one|no|every|first|last) finding)\b(?: injection)?`,
		but:   `injection`,
		write: "diagnostic, mistake, error",
	},
	"mend, looks": {
		find:  `\b(?:[Mm]end(?:s|ed|ing)?|(?:the|its|their|of|no|more|each|many|two|these|few|all) looks)\b`,
		write: "hint; request",
	},
	"shape": {
		find:  `\b[Ss]hape(?:s|d)?\b`,
		write: "form, type, structure; decode",
	},
	"kept, maker, making, coming": {
		find: `\b(?:[Mm]akers?|the making|making of|(?:a|the|its|each|one|no|every) coming|` +
			`coming (?:generations?|ones?|values?|credentials?)|kept (?:generations?|ones?|passwords?|credentials?))\b`,
		write: "generator; current, pending or previous generation",
	},
}

func (p wordPattern) in(text string) (at []int) {
	replacer := strings.NewReplacer(" ", `\s+`, "END", `(?:[.;]|\n\s*\n|\s*\z)`, "START", `(?:\A\s*|\n\s*\n\s*|[-*|] )`)
	find := compiled(replacer.Replace(p.find))
	for _, m := range find.FindAllStringIndex(text, -1) {
		if p.but == "" || !compiled(strings.ReplaceAll(p.but, " ", `\s+`)).MatchString(text[m[0]:m[1]]) {
			at = append(at, m[0]+len(text[m[0]:m[1]])-len(strings.TrimLeft(text[m[0]:m[1]], " \t\n.;:,")))
		}
	}
	return at
}

var expressionsOfWords = map[string]*regexp.Regexp{}

func compiled(pattern string) *regexp.Regexp {
	if expressionsOfWords[pattern] == nil {
		expressionsOfWords[pattern] = regexp.MustCompile(pattern)
	}
	return expressionsOfWords[pattern]
}

// A passage is a piece of text.
type passage struct {
	kind, file string
	line       int
	text       string
}

func TestWords(t *testing.T) {
	for _, p := range passages(t) {
		for name, pattern := range wordPatterns {
			for _, at := range pattern.in(p.text) {
				t.Errorf("%s:%d: %s: %s: %q; write: %s", p.file, p.line+strings.Count(p.text[:at], "\n"),
					p.kind, name, around(p.text, at), pattern.write)
			}
		}
	}
}

// around is the part of a text near a match.
func around(text string, at int) string {
	start, end := max(0, at-30), min(len(text), at+70)
	return strings.ToValidUTF8(strings.Join(strings.Fields(text[start:end]), " "), "")
}

// passages are all texts of the repository.
func passages(t *testing.T) (out []passage) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file := strings.TrimPrefix(filepath.ToSlash(path), "../")
		if d.IsDir() {
			if path != ".." && strings.HasPrefix(d.Name(), ".") && d.Name() != ".github" || d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		read := map[string]func(string, []byte) ([]passage, error){".md": pagePassages,
			".go": goPassages}[filepath.Ext(path)]
		if ok, _ := filepath.Match("package/input/*.yaml", file); ok {
			read = descriptionPassages
		}
		if read == nil || strings.HasPrefix(d.Name(), "zz_generated") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found, err := read(file, data)
		out = append(out, found...)
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("cannot read texts: %v", err)
	}
	return out
}

var (
	fences     = regexp.MustCompile("(?ms)^ *```.*?^ *```[^\n]*$")
	inlineCode = regexp.MustCompile("`[^`\n]+`")
	linkTarget = regexp.MustCompile(`\]\([^)\n]*\)`)
)

// pagePassages is a page without code. It has as many lines as the page.
func pagePassages(file string, data []byte) ([]passage, error) {
	text := fences.ReplaceAllStringFunc(string(data), func(s string) string {
		return strings.Repeat("\n", strings.Count(s, "\n"))
	})
	return []passage{{"pages", file, 1, withoutCode(linkTarget.ReplaceAllString(text, "]"))}}, nil
}

// withoutCode has a placeholder for each piece of code.
func withoutCode(text string) string { return inlineCode.ReplaceAllString(text, "Code") }

// descriptionPassages are the descriptions in a schema.
func descriptionPassages(file string, data []byte) (out []passage, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			isValue := n.Kind == yaml.MappingNode && i%2 == 1 && child.Kind == yaml.ScalarNode
			if isValue && n.Content[i-1].Value == "description" {
				out = append(out, passage{"descriptions", file, child.Line, withoutCode(child.Value)})
			}
			walk(child)
		}
	}
	walk(&document)
	return out, nil
}

// goPassages are the comments of a file and, unless it belongs to tests, its messages.
func goPassages(file string, data []byte) (out []passage, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	kind := "comments"
	if forTests(file) {
		kind = "comments (tests)"
	}
	for _, group := range f.Comments {
		text := firstName.ReplaceAllString(commentText(group), "${1}Name")
		out = append(out, passage{kind, file, set.Position(group.Pos()).Line, withoutCode(text)})
	}
	if kind == "comments" {
		for _, m := range messages(f) {
			out = append(out, passage{"messages", file, set.Position(m.at).Line, withoutCode(m.text)})
		}
	}
	return out, nil
}

func forTests(file string) bool {
	for _, dir := range []string{"internal/e2e/", "internal/testdata/", "internal/engine/function/functiontest/",
		"internal/engine/plan/plantest/", "internal/release/"} {
		if strings.HasPrefix(file, dir) {
			return true
		}
	}
	return strings.HasSuffix(file, "_test.go")
}

// firstName is the name with which a doc comment begins, and not the word Package, What or Who.
var firstName = regexp.MustCompile(`^(An? )?(?:[a-oq-vx-zA-OQ-VX-Z]\w*|p\w*|P[b-z]\w*|w[a-gi-z]\w*)`)

var directive = regexp.MustCompile(`^//(?:[a-z0-9]+:|\+|export )[^/]*`)

// commentText is the prose of a comment, without directives and code. It has as many lines as the comment.
func commentText(group *ast.CommentGroup) string {
	var lines []string
	for _, c := range group.List {
		text := directive.ReplaceAllString(c.Text, "")
		prose, ok := strings.CutPrefix(text, "//")
		if ok && !strings.HasPrefix(prose, "\t") && !strings.HasPrefix(prose, "    ") {
			lines = append(lines, strings.TrimSpace(prose))
			continue
		}
		text = strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
		if strings.HasPrefix(text, "//") {
			text = "" // code
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

type message struct {
	at   token.Pos
	text string
}

// messages are the strings of a file that contain more than one word.
func messages(f *ast.File) (out []message) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				tag, _ := strconv.Unquote(n.Tag.Value)
				out = append(out, message{n.Tag.Pos(), reflect.StructTag(tag).Get("help")})
			}
			return n.Tag == nil
		case *ast.BinaryExpr:
			if text := joined(n); n.Op == token.ADD && strings.Contains(text, " ") {
				out = append(out, message{n.Pos(), text})
				return false
			}
		case *ast.BasicLit:
			if text := joined(n); strings.Contains(text, " ") {
				out = append(out, message{n.Pos(), text})
			}
		}
		return true
	})
	return out
}

// joined is a string, or the sum of strings, with a placeholder for all that is not literal.
func joined(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return joined(e.X) + joined(e.Y)
	case *ast.ParenExpr:
		return joined(e.X)
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	}
	return "X"
}
