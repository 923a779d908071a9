package migrate

import (
	"cmp"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate/gotemplate"
)

// generator returns a function that adds a generator when it is used for the first time, and returns its step below
// generated. In a loop, it is a generator with the same list.
func (t *templated) generator(hint string) func(*gotemplate.Generator) string {
	return func(g *gotemplate.Generator) string {
		if _, ok := t.generated[g]; !ok {
			t.generated[g] = t.addGenerator(g, cmp.Or(g.Name, hint))
		}
		if t.key != "" {
			return celtext.Select("", t.generated[g]) + "[key]"
		}
		return celtext.Select("", t.generated[g])
	}
}

func (t *templated) addGenerator(g *gotemplate.Generator, hint string) string {
	fields := t.fieldsOfGenerator(g.Fields, hint)
	name := t.generatorName(hint)
	n := mapping().withText("name", name)
	if t.key != "" {
		n.with("forEachExpression", textNode(t.list)).with("keyExpression", textNode(t.key))
	}
	if len(t.step.generators.items) == 0 {
		t.step.generators.note(decide+"a generator makes a new value once, and keeps it. To keep the value that the "+
			"Secret has now, add the Secret to sources, and write secrets.?former.?password.orValue(generated.…).",
			"refreshPolicy says when a value is replaced.")
	}
	n.with(g.Kind, fields)
	if g.Kind == "certificate" && fields.field("isCA") == nil {
		n.withText("refreshPolicy", string(v1beta1.OnChange)) // so that it is renewed
	}
	t.step.generators.items = append(t.step.generators.items, n)
	return name
}

// fieldsOfGenerator returns the fields of a kind of generator. A generator that signs or hashes refers to another one.
func (t *templated) fieldsOfGenerator(fields []gotemplate.Field, hint string) *node {
	n := mapping()
	for _, f := range fields {
		switch v := f.Value.(type) {
		case string:
			n.withText(f.Name, v)
		case []string:
			n.with(f.Name, textsNode(v))
		case gotemplate.CEL:
			n.with(f.Name, textNode(t.manifests.Named(string(v), t.generator(hint))))
		case []gotemplate.Field:
			n.with(f.Name, t.fieldsOfGenerator(v, hint))
		case *gotemplate.Generator:
			t.generator(hint + "-ca")(v)
			n.withText(f.Name, t.generated[v])
		default:
			n.with(f.Name, rawNode(v))
		}
	}
	return n
}
