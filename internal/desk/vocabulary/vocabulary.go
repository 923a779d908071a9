// Package vocabulary describes the functions, operators and macros of expressions: what they do, their signatures, and
// an example with its result. The reference of the input and `fn explain --functions` print the same list.
//
// vocabulary.yaml says what the functions do. Their signatures come from the environment of expressions, and the results
// of the examples are computed. It is an error if one of both lacks a function of the other one.
package vocabulary

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/decls"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

//go:embed vocabulary.yaml
var text []byte

// A vocabulary is what the environment of expressions does not say about functions and macros.
type vocabulary struct {
	Hidden []string `json:"hidden"` // which expressions cannot call
	Groups []Group  `json:"groups"`

	Secret map[string]string `json:"secret"` // the variable secret in examples
}

// A Group of functions.
type Group struct {
	Title   string  `json:"title"`
	Note    string  `json:"note"`
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

// Of returns all functions, operators and macros of the environment, in groups.
func Of(ctx context.Context, env *expression.Environment) ([]Group, error) {
	return read(ctx, env, text)
}

func read(ctx context.Context, env *expression.Environment, text []byte) ([]Group, error) {
	v := vocabulary{}
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		return nil, fmt.Errorf("cannot read the vocabulary: %w", err)
	}
	l := newLeft(env)
	var wrong []error
	for _, name := range v.Hidden {
		if l.functions[name] == nil {
			wrong = append(wrong, fmt.Errorf("cannot hide %s: there is no such function", name))
		}
		delete(l.functions, name)
	}
	for _, g := range v.Groups {
		for i := range g.Entries {
			wrong = append(wrong, l.describe(&g.Entries[i]), g.Entries[i].evaluate(ctx, env, v.Secret))
		}
	}
	return v.Groups, errors.Join(append(wrong, l.undescribed())...)
}

// left are the functions and macros that no entry describes yet.
type left struct {
	functions map[string]*decls.FunctionDecl
	macros    map[string]bool
}

func newLeft(env *expression.Environment) left {
	l := left{functions: maps.Clone(env.CEL().Functions()), macros: map[string]bool{}}
	for _, m := range env.CEL().Macros() {
		l.macros[m.MacroKey()] = true
	}
	return l
}

// describe sets the signatures of an entry, and takes its functions and macros out.
func (l left) describe(e *Entry) error {
	var wrong []error
	if e.As != "" {
		e.Signatures = strings.Split(e.As, "; ")
	}
	for _, name := range e.Names {
		if l.functions[name] == nil {
			wrong = append(wrong, fmt.Errorf("cannot describe function %s: there is none, or it is described twice", name))
			continue
		}
		if e.As == "" {
			e.Signatures = append(e.Signatures, signatures(l.functions[name])...)
		}
		delete(l.functions, name)
	}
	for _, key := range e.Macros {
		if !l.macros[key] {
			wrong = append(wrong, fmt.Errorf("cannot describe macro %s: there is none, or it is described twice", key))
		}
		delete(l.macros, key)
	}
	return errors.Join(wrong...)
}

func (l left) undescribed() error {
	wrong := make([]error, 0, len(l.functions)+len(l.macros))
	for _, name := range slices.Sorted(maps.Keys(l.functions)) {
		wrong = append(wrong, fmt.Errorf("cannot describe function %s: write an entry into vocabulary.yaml", name))
	}
	for _, key := range slices.Sorted(maps.Keys(l.macros)) {
		wrong = append(wrong, fmt.Errorf("cannot describe macro %s: write an entry into vocabulary.yaml", key))
	}
	return errors.Join(wrong...)
}

// evaluate the example.
func (e *Entry) evaluate(ctx context.Context, env *expression.Environment, secret map[string]string) error {
	if e.Does == "" || e.Example == "" {
		return fmt.Errorf("cannot describe %s: it needs does and example", slices.Concat(e.Names, e.Macros))
	}
	x, wrong := env.Compile(expression.Source{Text: e.Example, Path: "example"})
	if len(wrong) > 0 {
		return fmt.Errorf("cannot compile example %s: %w", e.Example, wrong[0])
	}
	vars, err := cel.NewActivation(map[string]any{expression.Secret: secret})
	if err != nil {
		return fmt.Errorf("cannot evaluate example %s: %w", e.Example, err)
	}
	v, err := x.Evaluate(ctx, vars, budget.New(ctx))
	if err != nil {
		return fmt.Errorf("cannot evaluate example %s: %w", e.Example, err)
	}
	e.Result = literal(v)
	return nil
}
