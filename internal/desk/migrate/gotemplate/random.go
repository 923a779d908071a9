package gotemplate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A Generator replaces a function that returns another value in each rendering.
type Generator struct {
	Kind   string  // the field of a generator
	Fields []Field // of that field, in order
	Name   string  // of the variable that has its value, or nothing
}

// A Field is a field of a generator: a text, a number, a boolean, a list of texts, CEL, fields, or another generator.
type Field struct {
	Name  string
	Value any
}

// CEL is a value in CEL, for a field with Expression.
type CEL string

// A generator in CEL is its index between these characters, until it has a name.
const (
	generatorStart = "\ue002"
	generatorEnd   = "\ue003"
)

var generatorMark = lazy.MustCompile(generatorStart + `(\d+)` + generatorEnd)

// Named replaces the generators in CEL by what the function name returns: a step below generated.
func (m *Manifests) Named(cel string, name func(*Generator) string) string {
	return generatorMark.ReplaceAllStringFunc(cel,
		func(found string) string { return name(m.translation.generatorAt(found)) })
}

func (t *translation) generatorAt(mark string) *Generator {
	i, err := strconv.Atoi(strings.Trim(mark, generatorStart+generatorEnd))
	if err != nil {
		return nil
	}
	return (*t.generators)[i]
}

// generator adds a generator, and returns an output of it.
func (t *translation) generator(kind string, fields []Field) func(output string) Expr {
	all := t.generators
	*all = append(*all, &Generator{Kind: kind, Fields: fields})
	mark := fmt.Sprintf("%s%d%s", generatorStart, len(*all)-1, generatorEnd)
	return func(output string) Expr { return Of(celtext.Select("generated"+mark, output), Text) }
}

// name names the generator of a random value after a variable.
func (t *translation) name(v value, variable string) {
	for _, e := range []Expr{v.expr, v.fields["Cert"]} {
		if mark := generatorMark.FindString(e.typed()); mark != "" && v.random {
			if g := t.generatorAt(mark); g.Name == "" {
				g.Name = variable
			}
		}
	}
}

// mayGenerate returns why there is no generator at this place.
func (t *translation) mayGenerate() error {
	switch {
	case t.data.Strict:
		return errors.New("makes a random value: add a generator, and read its output")
	case t.depth > 0:
		return errors.New("makes another random value for each item of a loop")
	}
	return nil
}

// random returns a function that becomes a generator.
func random(kind, output string, fields func(*translation, []value) ([]Field, error)) function {
	return func(t *translation, args []value) (value, error) {
		if err := t.mayGenerate(); err != nil {
			return value{}, err
		}
		var list []Field
		if fields != nil {
			var err error
			if list, err = fields(t, args); err != nil {
				return value{}, err
			}
		}
		return value{expr: t.generator(kind, list)(output), random: true}, nil
	}
}

// password returns the fields of a password without some kinds of characters.
func password(without ...string) func(*translation, []value) ([]Field, error) {
	return func(t *translation, args []value) ([]Field, error) {
		e, err := t.resolve(args[0])
		if err != nil {
			return nil, err
		}
		length := Field{"lengthExpression", CEL("int(" + e.typed() + ")")}
		if n, err := strconv.Atoi(e.typed()); err == nil {
			length = Field{"length", n}
		}
		out := []Field{length}
		for _, name := range without {
			out = append(out, Field{name, 0})
		}
		return append(out, Field{"allowRepeat", true}), nil
	}
}

func hashed(t *translation, args []value) ([]Field, error) {
	e, err := t.resolve(args[0])
	return []Field{{"secretExpression", CEL(e.Text())}}, err
}

func users(t *translation, args []value) ([]Field, error) {
	list, err := t.all(args)
	if err != nil {
		return nil, err
	}
	return []Field{{"secretExpression", CEL("{" + list[0].Text() + ": " + list[1].Text() + "}")}}, nil
}

func privateKey(t *translation, args []value) ([]Field, error) {
	e, err := t.resolve(args[0])
	if err != nil {
		return nil, err
	}
	switch kind, _ := e.Constant(); kind {
	case "rsa":
		return []Field{{"type", "rsa"}, {"bits", 4096}, {"format", "PKCS1"}}, nil
	case "ed25519":
		return []Field{{"type", "ed25519"}, {"format", "PKCS8"}}, nil
	}
	return nil, errors.New("makes a private key of a type that no generator makes in the same format")
}

// certificate translates genCA, genSelfSignedCert and genSignedCert by the number of their arguments.
func certificate(t *translation, args []value) (value, error) {
	if err := t.mayGenerate(); err != nil {
		return value{}, err
	}
	days := args[len(args)-1]
	if len(args) > 2 {
		days = args[3]
	}
	list, err := t.all([]value{args[0], days})
	if err != nil {
		return value{}, err
	}
	var fields []Field
	if len(args) == 2 {
		fields = append(fields, Field{"isCA", true})
	}
	if len(args) == 5 {
		mark := generatorMark.FindString(args[4].fields["Cert"].typed())
		if mark == "" {
			return value{}, errors.New("signs a certificate with a CA that is not made by genCA")
		}
		fields = append(fields, Field{"ca", t.generatorAt(mark)})
	}
	fields = append(fields, Field{"subject", []Field{literalOr("commonName", list[0])}})
	if len(args) > 2 {
		for i, name := range []string{"ipAddresses", "dnsNames"} {
			f, err := t.texts(name, args[i+1])
			if err != nil {
				return value{}, err
			}
			fields = append(fields, f...)
		}
	}
	if n, err := strconv.Atoi(list[1].typed()); err == nil {
		fields = append(fields, Field{"duration", fmt.Sprintf("%dh", n*24)})
	} else {
		fields = append(fields, Field{"durationExpression", CEL("string(int(" + list[1].typed() + ") * 24) + 'h'")})
	}
	fields = append(fields, Field{"keyType", "rsa"}, Field{"keyFormat", "PKCS1"})
	output := t.generator("certificate", fields)
	return value{fields: map[string]Expr{"Cert": output("tls.crt"), "Key": output("tls.key")}, random: true}, nil
}

// literalOr returns a literal field, or the one with Expression.
func literalOr(name string, e Expr) Field {
	if text, ok := e.Constant(); ok {
		return Field{name, text}
	}
	return Field{name + "Expression", CEL(e.Text())}
}

// texts returns a list of texts, which is empty for nil.
func (t *translation) texts(name string, v value) ([]Field, error) {
	if v.expr.typed() == "null" {
		return nil, nil
	}
	if v.list == nil {
		list, err := t.iterated(v)
		return []Field{{name + "Expression", CEL(list)}}, err
	}
	list, err := t.all(v.list)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	literals, expressions := make([]string, len(list)), make([]string, len(list))
	for i, e := range list {
		literals[i], _ = e.Constant()
		expressions[i] = e.Text()
	}
	if slices.Contains(literals, "") {
		return []Field{{name + "Expression", CEL("[" + strings.Join(expressions, ", ") + "]")}}, nil
	}
	return []Field{{name, literals}}, nil
}
