package gotemplate

import (
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

// mayGenerate fails if there is no generator at this place.
func (t *translation) mayGenerate() {
	switch {
	case t.data.Strict:
		panic(failed("makes a random value: add a generator, and read its output"))
	case t.depth > 0:
		panic(failed("makes another random value for each item of a loop"))
	}
}

// random returns a function that becomes a generator.
func random(kind, output string, fields func(*translation, []Expr) []Field) function {
	return func(t *translation, args []value) value {
		t.mayGenerate()
		return value{expr: t.generator(kind, fields(t, t.all(args)))(output), random: true}
	}
}

func withoutFields(*translation, []Expr) []Field { return nil }

// password returns the fields of a password without some kinds of characters.
func password(without ...string) func(*translation, []Expr) []Field {
	return func(_ *translation, args []Expr) []Field {
		length := Field{"lengthExpression", CEL("int(" + args[0].typed() + ")")}
		if n, err := strconv.Atoi(args[0].typed()); err == nil {
			length = Field{"length", n}
		}
		out := []Field{length}
		for _, name := range without {
			out = append(out, Field{name, 0})
		}
		return append(out, Field{"allowRepeat", true})
	}
}

func hashed(_ *translation, args []Expr) []Field {
	return []Field{{"secretExpression", CEL(args[0].Text())}}
}

func users(_ *translation, args []Expr) []Field {
	return []Field{{"secretExpression", CEL("{" + args[0].Text() + ": " + args[1].Text() + "}")}}
}

func privateKey(_ *translation, args []Expr) []Field {
	switch kind, _ := args[0].Constant(); kind {
	case "rsa":
		return []Field{{"type", "rsa"}, {"bits", 4096}, {"format", "PKCS1"}}
	case "ed25519":
		return []Field{{"type", "ed25519"}, {"format", "PKCS8"}}
	}
	panic(failed("makes a private key of a type that no generator makes in the same format"))
}

// certificate translates genCA, genSelfSignedCert and genSignedCert by the number of their arguments.
func certificate(t *translation, args []value) value {
	t.mayGenerate()
	days := args[min(3, len(args)-1)]
	var fields []Field
	switch len(args) {
	case 2:
		fields = append(fields, Field{"isCA", true})
	case 5:
		mark := generatorMark.FindString(args[4].fields["Cert"].typed())
		if mark == "" {
			panic(failed("signs a certificate with a CA that is not made by genCA"))
		}
		fields = append(fields, Field{"ca", t.generatorAt(mark)})
	}
	fields = append(fields, Field{"subject", []Field{literalOr("commonName", t.resolve(args[0]))}})
	if len(args) > 2 {
		fields = append(fields, t.texts("ipAddresses", args[1])...)
		fields = append(fields, t.texts("dnsNames", args[2])...)
	}
	duration := Field{"durationExpression", CEL("string(int(" + t.resolve(days).typed() + ") * 24) + 'h'")}
	if n, err := strconv.Atoi(t.resolve(days).typed()); err == nil {
		duration = Field{"duration", fmt.Sprintf("%dh", n*24)}
	}
	output := t.generator("certificate", append(fields, duration, Field{"keyType", "rsa"}, Field{"keyFormat", "PKCS1"}))
	return value{fields: map[string]Expr{"Cert": output("tls.crt"), "Key": output("tls.key")}, random: true}
}

// literalOr returns a literal field, or the one with Expression.
func literalOr(name string, e Expr) Field {
	if text, ok := e.Constant(); ok {
		return Field{name, text}
	}
	return Field{name + "Expression", CEL(e.Text())}
}

// texts returns a list of texts, which is empty for nil.
func (t *translation) texts(name string, v value) []Field {
	switch {
	case v.expr.typed() == "null" || v.list != nil && len(v.list) == 0:
		return nil
	case v.list == nil:
		return []Field{{name + "Expression", CEL(t.iterated(v))}}
	}
	literals, expressions := make([]string, len(v.list)), make([]string, len(v.list))
	for i, e := range t.all(v.list) {
		literals[i], _ = e.Constant()
		expressions[i] = e.Text()
	}
	if slices.Contains(literals, "") {
		return []Field{{name + "Expression", CEL("[" + strings.Join(expressions, ", ") + "]")}}
	}
	return []Field{{name, literals}}
}
