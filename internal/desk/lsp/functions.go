package lsp

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/crossplane-contrib/function-export/internal/desk/vocabulary"
)

// A function is one form in which a function, a method or a macro is called.
type function struct {
	name      string // with its namespace
	receiver  string // the type of the operand of a method, as the signature writes it
	signature string
	entry     vocabulary.Entry
}

// functions are all functions, methods and macros of expressions.
var functions = sync.OnceValue(func() (out []function) { //nolint:gochecknoglobals // read at most once
	for _, g := range vocabulary.Groups() {
		for _, e := range g.Entries {
			names := slices.Clone(e.Names)
			for _, m := range e.Macros {
				name, _, _ := strings.Cut(m, ":")
				names = append(names, name)
			}
			for _, s := range e.Signatures {
				if f, ok := parseSignature(s, names); ok {
					f.entry = e
					out = append(out, f)
				}
			}
		}
	}
	return out
})

// parseSignature reads a signature such as string.split(string) → list(string), json.decode(string) → dyn or
// list.map(x, value). It is not ok for an operator.
func parseSignature(signature string, names []string) (function, bool) {
	for _, name := range names {
		before, _, ok := strings.Cut(signature, name+"(")
		receiver, dot := strings.CutSuffix(before, ".")
		switch {
		case !ok || before != "" && !dot:
			continue
		case slices.Contains([]string{"cel", "math"}, receiver): // the namespace of a macro
			return function{name: receiver + "." + name, signature: signature}, true
		}
		return function{name: name, receiver: receiver, signature: signature}, true
	}
	return function{}, false
}

// functionsNamed returns the forms of a function, or of methods that have the name.
func functionsNamed(name string, method bool) (out []function) {
	for _, f := range functions() {
		if f.name == name && (f.receiver != "") == method {
			out = append(out, f)
		}
	}
	return out
}

// help describes a function.
func (f function) help() string {
	e := f.entry
	forms := strings.Join(e.Signatures, "\n")
	return fmt.Sprintf("```cel\n%s\n```\n%s\n\n```cel\n%s\n// %s\n```", forms, e.Does, e.Example, e.Result)
}

// snippet returns the call with a place for its arguments.
func (f function) snippet() string {
	name := f.name[strings.LastIndex(f.name, ".")+1:]
	if strings.Contains(f.signature, name+"()") {
		return f.name + "()"
	}
	return f.name + "($1)"
}

// variableNamed returns a variable of expressions, which has no name if there is none. A test reads their file.
func variableNamed(name string) (out vocabulary.Variable) {
	for _, v := range vocabulary.Variables() {
		if v.Name == name {
			out = v
		}
	}
	return out
}
