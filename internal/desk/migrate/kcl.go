package migrate

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/gotemplate"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// A kcl is a source of function-kcl. Only objects that are written out line by line are read, and only
// values that look up, encode, or insert.
type kcl struct {
	variables map[string]string // the parameter that a variable has, for example oxr
	lookup    func(path []any, optional bool) (gotemplate.Expr, error)
}

// kclName is the annotation with the composition resource name.
const kclName = "krm.kcl.dev/composition-resource-name"

var (
	kclSecret  = regexp.MustCompile(`(?m)^\s*["']?kind["']?\s*[=:]\s*["']Secret["']`)
	kclOpen    = regexp.MustCompile(`^\s*(?:("[^"]*"|[\w.]+)\s*[=:]\s*)?\{$`)
	kclClose   = regexp.MustCompile(`^\s*\}\s*,?(?:\s*if\s+(\w+)(?:\s+else\s+\{\s*\})?)?$`)
	kclLeaf    = regexp.MustCompile(`^\s*("[^"]*"|[\w.]+)\s*[=:]\s*([^{\[\s].*?),?$`)
	kclNothing = regexp.MustCompile(`^\s*(?:#.*|(?:"[^"]*"|[\w.]+)\s*[=:]\s*\{\s*\},?)?$`)
	kclIf      = regexp.MustCompile(`^\s*if\s+(?:"[^"]*"\s+in\s+)?(\w+)\s*:$`)
	kclElse    = regexp.MustCompile(`^\s*else\s*:$`)
	kclBranch  = regexp.MustCompile(`(?m)^\s*(?:if|elif|else|for)\b|\]\s*(?:if|for)\b`)
	kclParam   = regexp.MustCompile(`(?m)^(\w+)\s*=\s*option\("params"\)\.(\w+)\s*$`)
)

// kclSource adds the exports of a step of function-kcl.
func (s *step) kclSource(name string, input decode.Value, t templated) {
	text := input.Get("spec", "source").Text()
	if !kclSecret.MatchString(text) {
		return
	}
	k := kcl{variables: map[string]string{}, lookup: t.lookup}
	for _, p := range kclParam.FindAllStringSubmatch(text, -1) {
		k.variables[p[1]] = p[2]
	}
	t.step, t.name, t.manifest = s, name, k
	objects, rest := k.objects(text)
	for _, o := range objects {
		t.secret("", o)
	}
	if last := len(s.secrets.items) - 1; len(objects) > 0 && last >= 0 && kclBranch.MatchString(rest) {
		s.secrets.items[last].note(decide + "step " + name + " has conditions or loops: check that its Secrets do not depend on them.")
	}
	if kclSecret.MatchString(rest) {
		t.byHandOnly("its object is computed, or not written one key for each line", rest)
	}
}

// A kclReader reads objects line by line.
type kclReader struct {
	kcl
	objects       []map[string]any // the Secrets
	stack         []map[string]any // the object at the line, with those that contain it
	broken        bool             // a part of the outermost object cannot be read
	otherwise     int              // the depth of an object at whose end is an else branch
	block, others strings.Builder  // the text of the outermost object, and the text that is not read
}

// objects returns the Secrets that are written out, and the text that is not read.
func (k kcl) objects(text string) (objects []map[string]any, rest string) {
	r := kclReader{kcl: k}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch open := kclOpen.FindStringSubmatch(line); {
		case len(r.stack) > 0:
			r.block.WriteString(line + "\n")
			r.inside(line, open)
		case open != nil:
			r.block.WriteString(line + "\n")
			r.stack, r.broken = []map[string]any{{}}, false
		default:
			r.others.WriteString(line + "\n")
		}
	}
	return r.objects, r.others.String() + r.block.String()
}

// inside reads a line of an object.
func (r *kclReader) inside(line string, open []string) {
	o := r.stack[len(r.stack)-1]
	if kclNothing.MatchString(line) || r.condition(line) {
		return
	}
	if open != nil {
		inner := map[string]any{}
		r.broken = !kclSet(o, open[1], inner) || r.otherwise > 0 || r.broken
		r.stack = append(r.stack, inner)
		return
	}
	if closing := kclClose.FindStringSubmatch(line); closing != nil {
		r.broken = r.broken || closing[1] != "" && r.variables[closing[1]] != "ocds" // it does not only wait
		r.stack = r.stack[:len(r.stack)-1]
		if r.otherwise > len(r.stack) {
			r.otherwise = 0
		}
		if len(r.stack) == 0 {
			r.end(o)
		}
		return
	}
	if leaf := kclLeaf.FindStringSubmatch(line); leaf != nil {
		r.broken = !kclSet(o, leaf[1], kclValue(leaf[2])) || r.otherwise > 0 || r.broken
		return
	}
	r.broken = true
}

// condition reads a condition that only waits for composed resources, whose other branch is empty.
func (r *kclReader) condition(line string) bool {
	if kclElse.MatchString(line) {
		r.otherwise = len(r.stack)
		return true
	}
	m := kclIf.FindStringSubmatch(line)
	return m != nil && r.otherwise == 0 && r.variables[m[1]] == "ocds"
}

// end ends the outermost object.
func (r *kclReader) end(o map[string]any) {
	if r.broken || o["kind"] != "Secret" {
		r.others.WriteString(r.block.String())
	} else {
		r.objects = append(r.objects, o)
	}
	r.block.Reset()
}

// kclSet sets a key, or the end of a path.
func kclSet(o map[string]any, name string, value any) bool {
	path := []string{strings.Trim(name, `"`)}
	if !strings.HasPrefix(name, `"`) {
		path = strings.Split(name, ".")
	}
	for _, field := range path[:len(path)-1] {
		inner, ok := o[field].(map[string]any)
		if o[field] == nil {
			inner, ok = map[string]any{}, true
			o[field] = inner
		}
		if !ok {
			return false
		}
		o = inner
	}
	last := path[len(path)-1]
	if _, again := o[last]; again || last == "" {
		return false
	}
	o[last] = value
	return true
}

// computed begins a value that is not a literal text.
const computed = "\x00"

func kclValue(text string) any {
	switch literal, err := strconv.Unquote(text); {
	case err == nil && strings.HasPrefix(text, `"`) && !strings.Contains(text, "${"):
		return literal
	case text == "True":
		return true
	}
	return computed + text
}

// HasActions reports whether a value is computed.
func (k kcl) HasActions(text string) bool { return strings.HasPrefix(text, computed) }

// Source returns a value as it is in the source.
func (k kcl) Source(text string) string { return strings.TrimPrefix(text, computed) }

// Optional is for conditions on keys, which are not read.
func (k kcl) Optional(_, text string) (string, bool) { return text, false }

// Conditions is for conditions on objects, which are not read.
func (k kcl) Conditions(string) []string { return nil }

// Expr translates a value.
func (k kcl) Expr(text string) (gotemplate.Expr, error) {
	source, ok := strings.CutPrefix(text, computed)
	if !ok {
		return gotemplate.Literal(text), nil
	}
	return k.value(strings.TrimSpace(source))
}

var (
	kclEncode = regexp.MustCompile(`^base64\.encode\((.*)\)$`)
	kclText   = regexp.MustCompile(`^str\((.*)\)$`)
	kclOr     = regexp.MustCompile(`^(.*\S)\s+or\s+("[^"]*")$`)
	kclPath   = regexp.MustCompile(`^(?:option\("params"\)\??\.)?(\w+)((?:\??\.\w+|\??\["[^"]*"\]|\??\[\d+\])*)$`)
	kclStep   = regexp.MustCompile(`\??\.(\w+)|\??\["([^"]*)"\]|\??\[(\d+)\]`)
	kclInsert = regexp.MustCompile(`\$\{([^{}]*)\}`)
)

var errKCL = errors.New("is not a look-up, a text, or their encoding")

func (k kcl) value(text string) (gotemplate.Expr, error) {
	if m := kclEncode.FindStringSubmatch(text); m != nil {
		e, err := k.value(m[1])
		return e.Encode(), err
	}
	if m := kclText.FindStringSubmatch(text); m != nil {
		return k.value(m[1])
	}
	if m := kclOr.FindStringSubmatch(text); m != nil && m[2] == `""` {
		return k.value(m[1]) // an empty value is never exported
	}
	if strings.HasPrefix(text, `"`) {
		return k.inserted(text)
	}
	return k.path(text)
}

// inserted translates a text with insertions.
func (k kcl) inserted(text string) (gotemplate.Expr, error) {
	body, ok := strings.CutSuffix(text[1:], `"`)
	if !ok {
		return gotemplate.Expr{}, errKCL
	}
	var out []gotemplate.Expr
	last := 0
	for _, at := range append(kclInsert.FindAllStringSubmatchIndex(body, -1), []int{len(body), len(body), 0, 0}) {
		literal, err := strconv.Unquote(`"` + body[last:at[0]] + `"`)
		if err != nil {
			return gotemplate.Expr{}, errKCL
		}
		out, last = append(out, gotemplate.Literal(literal)), at[1]
		if at[0] == at[1] {
			break
		}
		e, err := k.path(strings.TrimSpace(body[at[2]:at[3]]))
		if err != nil {
			return e, err
		}
		out = append(out, e)
	}
	return gotemplate.Join(out...), nil
}

// path translates a look-up in the parameters.
func (k kcl) path(text string) (gotemplate.Expr, error) {
	m := kclPath.FindStringSubmatch(text)
	if m == nil {
		return gotemplate.Expr{}, errKCL
	}
	root, ok := k.variables[m[1]]
	if !ok && strings.HasPrefix(text, `option("params")`) {
		root = m[1]
	}
	var path []any
	for _, s := range kclStep.FindAllStringSubmatch(m[2], -1) {
		if i, err := strconv.Atoi(s[3]); err == nil {
			path = append(path, i)
			continue
		}
		path = append(path, s[1]+s[2])
	}
	switch {
	case root == "oxr":
		return k.lookup(append([]any{observedState, ofComposite, fieldsOf}, path...), false)
	case root == "ocds" && len(path) > 1:
		part, known := map[any]string{"Resource": fieldsOf, "ConnectionDetails": detailsOf}[path[1]]
		if known {
			path[1] = part
			return k.lookup(append([]any{observedState, ofResources}, path...), false)
		}
	}
	return gotemplate.Expr{}, errKCL
}
