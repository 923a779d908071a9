package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/expression"
)

//go:embed vocabulary.yaml
var vocabularyText []byte

// A vocabulary is what the environment of expressions does not say about functions and macros.
type vocabulary struct {
	Hidden []string `json:"hidden"` // which expressions cannot call
	Groups []Group  `json:"groups"`
}

// A Group of functions.
type Group struct {
	Title   string  `json:"title"`
	Entries []Entry `json:"entries"`
}

// An Entry is a function, several that do the same, or a macro.
type Entry struct {
	Names   []string `json:"names"`  // of functions
	Macros  []string `json:"macros"` // as the environment has them
	As      string   `json:"as"`     // how it is written, for an operator or a macro
	Does    string   `json:"does"`
	Example string   `json:"example"`

	Signatures []string `json:"-"`
	Result     string   `json:"-"` // of the example
}

// functions returns all functions, operators and macros of expressions. It is an error if
// the vocabulary lacks one of them, or has one that does not exist.
func functions(env *expression.Environment, vocabularyText []byte) ([]Group, error) {
	v := vocabulary{}
	if err := yaml.UnmarshalStrict(vocabularyText, &v); err != nil {
		return nil, fmt.Errorf("cannot read the vocabulary: %w", err)
	}
	declared, macros := env.CEL().Functions(), map[string]bool{}
	for _, m := range env.CEL().Macros() {
		macros[m.MacroKey()] = true
	}
	left := maps.Clone(declared)
	var wrong []error
	for _, name := range v.Hidden {
		if left[name] == nil {
			wrong = append(wrong, fmt.Errorf("cannot hide %s: there is no such function", name))
		}
		delete(left, name)
	}
	for g := range v.Groups {
		for i := range v.Groups[g].Entries {
			e := &v.Groups[g].Entries[i]
			if e.As != "" {
				e.Signatures = strings.Split(e.As, "; ")
			}
			for _, name := range e.Names {
				if left[name] == nil {
					wrong = append(wrong, fmt.Errorf("cannot describe function %s: there is none, or it is described twice", name))
					continue
				}
				if e.As == "" {
					e.Signatures = append(e.Signatures, signatures(left[name])...)
				}
				delete(left, name)
			}
			for _, key := range e.Macros {
				if !macros[key] {
					wrong = append(wrong, fmt.Errorf("cannot describe macro %s: there is none, or it is described twice", key))
				}
				delete(macros, key)
			}
			wrong = append(wrong, e.evaluate(env))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		wrong = append(wrong, fmt.Errorf("cannot describe function %s: write an entry into vocabulary.yaml", name))
	}
	for _, key := range slices.Sorted(maps.Keys(macros)) {
		wrong = append(wrong, fmt.Errorf("cannot describe macro %s: write an entry into vocabulary.yaml", key))
	}
	return v.Groups, errors.Join(wrong...)
}

// evaluate the example.
func (e *Entry) evaluate(env *expression.Environment) error {
	if e.Does == "" || e.Example == "" {
		return fmt.Errorf("cannot describe %s: it needs does and example", slices.Concat(e.Names, e.Macros))
	}
	x, wrong := env.Compile(expression.Source{Text: e.Example, Path: "example"})
	if len(wrong) > 0 {
		return fmt.Errorf("cannot compile example %s: %w", e.Example, wrong[0])
	}
	v, err := x.Evaluate(context.Background(), cel.NoVars(), budget.New(context.Background()))
	if err != nil {
		return fmt.Errorf("cannot evaluate example %s: %w", e.Example, err)
	}
	e.Result = literal(v)
	return nil
}

// A signature of an overload, or of several that differ in types only.
type signature struct {
	name   string
	member bool
	args   [][]string // the types of each argument
	result string
}

func (s signature) String() string {
	args := make([]string, 0, len(s.args))
	for _, a := range s.args {
		args = append(args, strings.Join(a, " | "))
	}
	target := ""
	if s.member {
		target, args = args[0]+".", args[1:]
		if strings.Contains(target, " | ") {
			target = "(" + strings.TrimSuffix(target, ".") + ")."
		}
	}
	return fmt.Sprintf("%s%s(%s) → %s", target, s.name, strings.Join(args, ", "), s.result)
}

// signatures of a function: one for all overloads that differ in the type of one argument.
func signatures(f *decls.FunctionDecl) []string {
	var all []signature
	for _, o := range generic(f) {
		i := slices.IndexFunc(all, func(s signature) bool { return s.differs(o) <= 1 })
		if i < 0 {
			all = append(all, o)
			continue
		}
		for n, types := range o.args {
			if !slices.Contains(all[i].args[n], types[0]) {
				all[i].args[n] = append(all[i].args[n], types[0])
			}
		}
	}
	out := make([]string, 0, len(all))
	for _, s := range all {
		for _, a := range s.args {
			slices.Sort(a)
		}
		out = append(out, s.String())
	}
	slices.Sort(out)
	return out
}

// differs counts the arguments whose types differ. Overloads that differ in two or more arguments are listed separately.
func (s signature) differs(o signature) int {
	if s.member != o.member || s.result != o.result || len(s.args) != len(o.args) {
		return len(s.args) + len(o.args) + 2
	}
	n := 0
	for i, types := range s.args {
		if len(types) > 1 || types[0] != o.args[i][0] {
			n++
		}
	}
	return n
}

// generic are the overloads of a function. Those whose result has the type of the first argument,
// for several types, are one: math.abs(T) → T.
func generic(f *decls.FunctionDecl) []signature {
	type form struct{ of, as signature }
	forms, counts := make([]form, 0, len(f.OverloadDecls())), map[string]int{}
	for _, o := range f.OverloadDecls() {
		s := signature{name: f.Name(), member: o.IsMemberFunction(), result: typeText(o.ResultType())}
		t := signature{name: s.name, member: s.member, result: s.result}
		for _, a := range o.ArgTypes() {
			s.args = append(s.args, []string{typeText(a)})
		}
		if len(s.args) > 0 {
			basic := innermost(o.ArgTypes()[0])
			swap := func(text string) string { return strings.ReplaceAll(text, basic, "T") }
			t.result = swap(s.result)
			for _, a := range s.args {
				t.args = append(t.args, []string{swap(a[0])})
			}
			if t.result == s.result {
				t = s
			}
		}
		forms = append(forms, form{s, t})
		counts[t.String()]++
	}
	var out []signature
	for _, f := range forms {
		switch {
		case counts[f.as.String()] == 1:
			out = append(out, f.of)
		case !slices.ContainsFunc(out, func(s signature) bool { return s.String() == f.as.String() }):
			out = append(out, f.as)
		}
	}
	return out
}

// innermost is the type of the elements of a list, of the elements of these, and so on.
func innermost(t *cel.Type) string {
	if t.Kind() == types.ListKind {
		return innermost(t.Parameters()[0])
	}
	return typeText(t)
}

// typeText is a type as a reader knows it.
func typeText(t *cel.Type) string {
	return strings.ReplaceAll(cel.FormatCELType(t), "optional_type", "optional")
}
