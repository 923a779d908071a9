package gotemplate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
)

// A Generator replaces a function that returns another value in each rendering.
type Generator struct {
	Name    string
	Kind    string   // the field of a generator
	Fields  []Field  // of that field, in order
	Instead []string // what the template also assigns to its variable
}

// A Field is a field of a generator: a text, a number, a boolean, or fields.
type Field struct {
	Name  string
	Value any
}

func (t *translation) named(name string) *Generator {
	for _, g := range *t.generators {
		if g.Name == name {
			return g
		}
	}
	return nil
}

// generator adds a generator.
func (t *translation) generator(kind string, fields []Field) string {
	if t.data.Generator == nil {
		panic(failed("makes a random value: add a generator, and read its output"))
	}
	g := &Generator{Name: t.data.Generator(t.hint), Kind: kind, Fields: fields}
	*t.generators = append(*t.generators, g)
	return g.Name
}

// randoms returns the functions that become generators.
func randoms() map[string]function {
	return map[string]function{
		"uuidv4":            random(0, "uuid", "uuid", func([]Expr) []Field { return nil }),
		"bcrypt":            random(1, "bcrypt", "hash", hashed),
		"htpasswd":          random(2, "htpasswd", "auth", users),
		"genPrivateKey":     random(1, "sshKey", "privateKey", privateKey),
		"randAlphaNum":      random(1, "password", "password", password("symbols")),
		"randAlpha":         random(1, "password", "password", password("symbols", "digits")),
		"randAscii":         random(1, "password", "password", password()),
		"genCA":             {2, 2, certificate},
		"genSelfSignedCert": {4, 4, certificate},
		"genSignedCert":     {5, 5, certificate},
	}
}

// random returns a function that becomes a generator.
func random(arguments int, kind, output string, fields func([]Expr) []Field) function {
	return function{arguments, arguments, func(t *translation, args []value) value {
		name := t.generator(kind, fields(all(args)))
		return value{expr: Of(celtext.Select("generated", name, output), Text), generator: name}
	}}
}

// password returns the fields of a password without some kinds of characters.
func password(without ...string) func([]Expr) []Field {
	return func(args []Expr) []Field {
		out := []Field{{"length", number(args[0])}}
		for _, name := range without {
			out = append(out, Field{name, 0})
		}
		return append(out, Field{"allowRepeat", true})
	}
}

func number(e Expr) int {
	n, err := strconv.Atoi(e.typed())
	if err != nil {
		panic(failed("computes a number of a generator"))
	}
	return n
}

func hashed(args []Expr) []Field { return []Field{{"secretExpression", args[0].Text()}} }

func users(args []Expr) []Field {
	return []Field{{"secretExpression", "{" + args[0].Text() + ": " + args[1].Text() + "}"}}
}

func privateKey(args []Expr) []Field {
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
	var fields []Field
	switch len(args) {
	case 2:
		fields = append(fields, Field{"isCA", true})
	case 5:
		if ca := t.named(args[4].generator); ca == nil || ca.Kind != "certificate" {
			panic(failed("signs a certificate with a CA that is not made by genCA"))
		}
		fields = append(fields, Field{"ca", args[4].generator})
	}
	subject := Field{"commonNameExpression", args[0].resolve().Text()}
	if text, ok := args[0].resolve().Constant(); ok {
		subject = Field{"commonName", text}
	}
	fields = append(fields, Field{"subject", []Field{subject}})
	if len(args) > 2 {
		fields = append(fields, texts("ipAddressesExpression", args[1])...)
		fields = append(fields, texts("dnsNamesExpression", args[2])...)
	}
	days := number(args[min(3, len(args)-1)].resolve())
	name := t.generator("certificate", append(fields, Field{"duration", fmt.Sprintf("%dh", days*24)},
		Field{"keyType", "rsa"}, Field{"keyFormat", "PKCS1"}))
	return value{generator: name, lookup: func(path []any, _ bool) (Expr, error) {
		output := map[any]string{"Cert": "tls.crt", "Key": "tls.key"}
		if len(path) != 1 || output[path[0]] == "" {
			return Expr{}, failed("reads something other than Cert and Key of a certificate")
		}
		return Of(celtext.Select("generated", name, output[path[0]]), Text), nil
	}}
}

// texts returns a field with a list of texts, unless it is empty.
func texts(name string, v value) []Field {
	if v.list == nil {
		return []Field{{name, v.resolve().typed()}}
	}
	var out []string
	for _, e := range all(v.list) {
		out = append(out, e.Text())
	}
	if len(out) == 0 {
		return nil
	}
	return []Field{{name, "[" + strings.Join(out, ", ") + "]"}}
}
