package lsp

import (
	"context"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/typecheck"
	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A view is what is known about one version of a file.
type view struct {
	*Server
	*buffer

	line   int // of the cursor
	file   files.File
	steps  []*step
	broken bool // YAML cannot read it

	// typed is the value of the line of the cursor, without which a broken file is read, because somebody is just typing
	// it. It is empty at the start of the file for none.
	typed span
}

// noCursor is the line for a view of all that can be read, from which nothing is left out.
const noCursor = -1

// A step is an input of the file, with its values.
type step struct {
	*files.Checked

	view        *view
	fields      []inputField
	expressions []*expr
}

// An inputField is a value of an input that its definition describes.
type inputField struct {
	path   []any // in the input
	at     *field.Path
	name   string // of the field, also if this is an item of its list
	above  *definition.Schema
	schema *definition.Schema
	value  any
}

// An expr is the text of an expression.
type expr struct {
	*step

	path    []any
	at      string // as in diagnostics
	text    string
	tokens  []token
	letters []int // the place of each byte of the text, and of its end
	place   document.Place
}

// view returns what is known about a file whose cursor is in a line, counted from 0. The line only matters if YAML
// cannot read the file.
func (s *Server) view(ctx context.Context, b *buffer, line int) *view {
	if v := s.cache; v != nil && v.buffer == b && (v.line == line || !v.broken) {
		return v
	}
	v := &view{Server: s, buffer: b, line: line, file: s.workspace.Open(b.name)}
	if v.broken = len(v.file.Broken()) > 0; v.broken && line != noCursor {
		v.repair()
	}
	if v.read(ctx); ctx.Err() == nil {
		s.cache = v
	}
	return v
}

// read reads the steps of the file.
func (v *view) read(ctx context.Context) {
	found, _ := files.FindSteps(v.file)
	for i, c := range v.workspace.Known().CheckEach(ctx, v.env, found) {
		v.steps = append(v.steps, v.step(i, c))
	}
}

// step returns an input with its values. If it does not compile, what was known of it before is still known.
func (v *view) step(i int, c *files.Checked) *step {
	former := v.former[v.name]
	switch {
	case c.Types != nil:
	case i < len(former) && former[i].Name == c.Name:
		c.Plan, c.Known, c.Types = former[i].Plan, former[i].Known, former[i].Types
	default:
		c.Plan = &plan.Plan{Input: &v1beta1.Exports{}}
		c.Known = v.workspace.Known().Of(c.Step, c.Plan)
		c.Types, _ = typecheck.Inspect(c.Plan, c.Known)
	}
	return &step{Checked: c, view: v}
}

// load collects the values and the expressions of the steps, which diagnostics do not need.
func (v *view) load() {
	for _, s := range v.steps {
		if s.fields == nil {
			s.walk(inputField{schema: definition.Exports(), value: any(s.Input)})
		}
	}
}

// walk collects a value and the values in it.
func (s *step) walk(f inputField) {
	s.fields = append(s.fields, f)
	if text, ok := f.value.(string); f.schema.Expression && (ok || f.value == nil) {
		e := &expr{step: s, path: f.path, at: f.at.String(), text: text}
		if e.read(); len(e.letters) > 0 { // otherwise the file has the text in another form
			s.expressions = append(s.expressions, e)
		}
	}
	below := func(key any, at *field.Path, name string, schema *definition.Schema, v any) {
		if schema != nil {
			s.walk(inputField{append(slices.Clip(f.path), key), at, name, f.schema, schema, v})
		}
	}
	switch v := f.value.(type) {
	case map[string]any:
		for _, name := range plan.SortedKeys(v) {
			if schema := f.schema.Properties[name]; schema != nil {
				below(name, f.at.Child(name), name, schema, v[name])
				continue
			}
			below(name, f.at.Key(name), f.name, f.schema.AdditionalProperties, v[name])
		}
	case []any:
		for i, item := range v {
			below(i, f.at.Index(i), f.name, f.schema.Items, item)
		}
	}
}

// mostRepaired is how often a line is left out of a file until YAML can read it.
const mostRepaired = 8

// keyInLine matches a line with a key, and what is before and after its value's quote.
var keyInLine = lazy.MustCompile(`^(\s*(?:- +)*["']?[\w./-]+["']?:)(\s+["']?|$)(.*)$`)

// repair leaves out what YAML cannot read: first the value of the line with the cursor, and then the line of each
// mistake, or the one above it that is not left out yet.
func (v *view) repair() {
	lines := lineBreak().Split(v.text.string, -1)
	if line := v.text.line(v.line); keyInLine().MatchString(v.text.in(line)) {
		m := keyInLine().FindStringSubmatch(v.text.in(line))
		v.typed = span{line.start + len(m[1]+m[2]), line.end}
		lines[v.line] = m[1] + " ''"
		v.file = files.Parse(v.name, strings.Join(lines, "\n"))
	}
	for range mostRepaired {
		broken := v.file.Broken()
		if len(broken) == 0 {
			return
		}
		at := min(broken[0].Line, len(lines))
		for at > 1 && lines[at-1] == "" {
			at--
		}
		lines[at-1] = ""
		v.file = files.Parse(v.name, strings.Join(lines, "\n"))
	}
}

// read finds the letters of an expression in the file. Those that somebody is just typing are in the line that YAML
// cannot read.
func (e *expr) read() {
	t, typed := e.view.text, e.view.typed
	e.place, _ = e.Document().Find(e.At(e.path...)...)
	if key := t.offsetIn(e.place.Key.Position); typed.start > 0 && t.lineOf(key) == t.lineOf(typed.start) {
		e.text = strings.TrimRight(t.in(typed), " ")
		if quote := t.string[typed.start-1 : typed.start]; quote == `"` || quote == "'" { // YAML has it around the text
			e.text = strings.TrimSuffix(e.text, quote)
		}
		for i := range len(e.text) + 1 {
			e.letters = append(e.letters, typed.start+i)
		}
	} else {
		for _, p := range e.Document().Letters(e.At(e.path...)...) {
			e.letters = append(e.letters, t.offsetIn(p))
		}
		if e.text == "" {
			e.letters = []int{t.offsetIn(e.place.Value.Position)}
		}
	}
	e.tokens = tokensOf(e.text)
}

// expr returns the expression at a place, and the offset in it.
func (v *view) expr(at int) (*expr, int) {
	for _, s := range v.steps {
		for _, e := range s.expressions {
			if offset, ok := e.offset(at); ok {
				return e, offset
			}
		}
	}
	return nil, 0
}

// offset returns the offset of a place in the text of an expression. Blanks after the text belong to it.
func (e *expr) offset(at int) (int, bool) {
	t, first, last := e.view.text, e.letters[0], e.letters[len(e.letters)-1]
	if at <= last {
		return sort.SearchInts(e.letters, at), at >= first
	}
	blanks := " \t\r\n"
	if e.text == "" { // it may have quotes
		blanks += `"'`
	}
	if strings.Trim(t.string[last:at], blanks) != "" || t.lineOf(at) != t.lineOf(last) && !e.isBlockAt(at) {
		return 0, false
	}
	if e.text == "" {
		e.letters = []int{at} // where it is written
	}
	return len(e.text), true
}

// isBlockAt reports whether a text is a block, and the column of a place can belong to it.
func (e *expr) isBlockAt(at int) bool {
	t, key := e.view.text, e.view.text.offsetIn(e.place.Key.Position)
	return strings.HasPrefix(t.string[t.offsetIn(e.place.Value.Position):], "|") && len(t.before(at)) > len(t.before(key))
}

// span returns the place in the file of a part of the text.
func (e *expr) span(start, end int) span {
	s := span{e.letters[start], e.letters[end]}
	if end > start && strings.ContainsAny(e.view.text.in(span{e.letters[end-1], s.end}), "\r\n") { // in the next line
		_, size := utf8.DecodeRuneInString(e.view.text.string[e.letters[end-1]:])
		s.end = e.letters[end-1] + size
	}
	return s
}

// compiled returns the compiled expression, or nil if it cannot be used.
func (s *step) compiled(at string) *plan.Compiled {
	for i, x := range s.Plan.Expressions {
		if x.Source().Path == at {
			return &s.Plan.Expressions[i]
		}
	}
	return nil
}

// source returns what an expression stands for, and the environment that it is compiled in.
func (e *expr) source() (expression.Source, *expression.Environment, *plan.ForEach) {
	s, env := expression.Source{Path: e.at}, e.view.env
	if x := e.compiled(e.at); x != nil {
		s = x.Source()
		return s, x.Environment(), x.ForEach
	}
	switch {
	case strings.Contains(e.at, ".rewrite["):
		s.Scope = expression.KeyScope
	case len(e.path) > 0 && e.path[0] == "generators":
		s.Scope = expression.GenerationScope
	}
	above := e.declaration(e.path)
	s.From = textOf(above["from"])
	if above["forEachExpression"] != nil {
		s.Items = expression.AllItems
	}
	for _, x := range e.Plan.Exports {
		if strings.HasPrefix(e.at, x.Path.String()+".") {
			return s, env, x.ForEach
		}
	}
	return s, env, nil
}

// declaration returns the item of a list of the input that a path is in, or nothing.
func (s *step) declaration(path []any) map[string]any {
	if len(path) < 2 {
		return nil
	}
	out, _ := s.Document().At(s.At(path[:2]...)...).(map[string]any)
	return out
}

func textOf(v any) string {
	text, _ := v.(string)
	return text
}
