package plan

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
	"github.com/crossplane-contrib/function-export/internal/engine/rewrite"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A DataFrom is one entry of dataFrom: an expression that returns keys or a find that selects
// them, and the rules that rewrite their names.
type DataFrom struct {
	Path     string // of the entry
	Optional bool
	Input    string                 // that extract names
	Resource string                 // the same, if it is a composed resource
	Value    *expression.Expression // of extract and valueMap
	Spelled  []string               // keys of value that a message may show; nil for all keys
	Object   bool                   // the input is a ConfigMap source
	Property []string               // of extract: the key whose value is decoded, and fields of it
	Find     *Find
	Rewriter *rewrite.Rewriter
}

// A Find says which keys of which inputs are exported.
type Find struct {
	Path string
	Name *rewrite.Pattern // may be nil
	Tags map[string]string
}

// Reaches reports whether a key of the input can have the path.
func (f Find) Reaches(input string) bool {
	if rest, ok := strings.CutPrefix(f.Path, input); ok {
		return rest == "" || rest[0] == '/'
	}
	return strings.HasPrefix(input, f.Path)
}

func (c *compiler) dataFrom(at *field.Path, list []v1beta1.DataFrom, from string, secret bool) []DataFrom {
	out := make([]DataFrom, 0, len(list))
	for i, d := range list {
		at := at.Child("dataFrom").Index(i)
		b := DataFrom{Path: at.String(), Optional: d.Optional}
		c.optional = d.Optional
		switch {
		case d.Extract != nil:
			c.extract(&b, at.Child("extract"), *d.Extract, secret)
		case d.Find != nil:
			c.find(&b, at.Child("find"), *d.Find, secret)
		case d.ValueMap != "":
			b.Value = c.output(expression.Source{Text: d.ValueMap, Path: at.Child("valueMap").String(), From: from,
				Want: expression.WantTextMap})
			if !secret {
				c.refuseAllSecrets(b.Value)
			}
			if b.Value != nil && len(c.reading(b.Value).uses) > 0 {
				b.Spelled = append([]string{}, b.Value.Keys()...)
			}
		}
		b.Rewriter, c.optional = c.rewriter(at, d), false
		out = append(out, b)
	}
	return out
}

// extract compiles the expression that reads the input that extract names.
//
//nolint:gocyclo // one case for each kind of input
func (c *compiler) extract(b *DataFrom, at *field.Path, e v1beta1.Extract, secret bool) {
	property, err := FieldNames(e.Property)
	if err != nil {
		c.report(at.Child("property").String(), "%s", err.Error())
		return
	}
	b.Input, b.Property = e.Key, property
	s := expression.Source{Path: at.Child("key").String(), Want: expression.WantTextMap}
	i := slices.IndexFunc(c.sources, func(s v1beta1.Source) bool { return s.Name == e.Key })
	switch {
	case e.Key == expression.Env && len(property) == 0:
		c.report(at.Child("property").String(), "must be set for the environment: name the field whose members to "+
			"extract")
		return
	case e.Key == expression.Env:
		s.Path, s.Want = at.Child("property").String(), expression.WantAny
		s.Text, b.Property = expression.PathText(expression.Env, property...), nil
	case i >= 0 && !IsSecret(c.sources[i]):
		if src := c.sources[i]; src.APIVersion != "v1" || src.Kind != "ConfigMap" || len(src.MatchLabels) > 0 {
			c.report(s.Path, "source %q is not a single ConfigMap or Secret: use its fields in a valueMap", e.Key)
			return
		}
		s.Want, b.Object = expression.WantAny, true
		s.Text = expression.PathText(expression.Sources, e.Key)
	case e.Key == expression.Composite:
		s.Text = expression.Secret
	default:
		s.Text = expression.PathText(expression.Secrets, e.Key)
		if variable, name, ok := GeneratedInput(e.Key); ok && len(c.declaredGenerators) > 0 {
			s.Text = expression.PathText(variable, strings.Split(name, ".")...) // compile refuses one that does not exist
			if c.declaredGenerators.List(name) != nil {
				c.report(s.Path, "generator %q has outputs for each item: extract %s.<key>, or write valueMap: %[2]s[key]",
					name, e.Key)
				return
			}
		} else if i < 0 {
			b.Resource = e.Key
		}
	}
	b.Value = c.output(s)
	if b.Value != nil && !secret && len(c.reading(b.Value).uses) > 0 {
		c.report(s.Path, "%q is secret data, which may flow only into the data of Secrets: extract a ConfigMap "+
			"source or the environment, or export single keys", e.Key)
	}
}

// FieldNames returns the names in a path of fields.
func FieldNames(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	segments, err := fieldpath.Parse(path)
	out := make([]string, 0, len(segments))
	for _, s := range segments {
		if s.Type == fieldpath.SegmentField && s.Field != "*" {
			out = append(out, s.Field)
		}
	}
	if err != nil || len(out) < len(segments) {
		return nil, errors.New("must contain only names of fields, for example network.addresses: write a list as a whole")
	}
	return out, nil
}

// find compiles a find, and records which sources it reads: those whose keys can have the path.
// Composed resources always come with their connection details.
func (c *compiler) find(b *DataFrom, at *field.Path, f v1beta1.Find, secret bool) {
	if !secret {
		c.report(at.String(),
			"finds secret data, which may flow only into the data of Secrets: extract a ConfigMap source or the "+
				"environment")
		return
	}
	b.Find = &Find{Path: f.Path, Tags: f.Tags}
	c.finds = append(c.finds, b.Find)
	if f.Name != nil && f.Name.RegExp != "" {
		re, wrong := rewrite.CompilePattern(at.Child("name", "regexp").String(), f.Name.RegExp)
		c.diagnostics = append(c.diagnostics, wrong...)
		b.Find.Name = re
	}
	if variable, _, ok := GeneratedInput(f.Path); ok && len(c.declaredGenerators) > 0 {
		c.refuse(at.Child("path"), "does not find outputs of generators: use extract with key %s.<generator>", variable)
	}
	for _, s := range c.sources {
		if IsSecret(s) && b.Find.Reaches(s.Name) {
			c.outputs.addUse(use{input: s.Name, key: Anything, place: expression.Place{Path: at.String()}})
		}
	}
}

func (c *compiler) rewriter(at *field.Path, d v1beta1.DataFrom) *rewrite.Rewriter {
	r, wrong := rewrite.Compile(d, func(path, text string) rewrite.Renamer {
		return c.keyExpression(at.String()+"."+path, text)
	})
	for _, d := range wrong {
		d.Path = at.String() + "." + d.Path
		c.diagnostics = append(c.diagnostics, d)
	}
	return r
}

// keyExpression is the function of an expression over a key. It never runs if the
// expression has a diagnostic.
func (c *compiler) keyExpression(path, text string) rewrite.Renamer {
	x, wrong := c.env.Compile(expression.Source{
		Text: text, Path: path, Want: expression.WantString, Scope: expression.KeyScope,
	})
	c.diagnostics = append(c.diagnostics, wrong...)
	return func(b *budget.Budget, key string) (string, error) { return x.Rename(key, b) }
}

// DetailsUsed says which connection details the expressions and the finds of an input can use.
type DetailsUsed struct {
	read  reading
	finds []*Find
}

// ByName reports whether an expression can use the connection details of a composed resource.
func (d *DetailsUsed) ByName(name string) bool { return d.read.readsSecret(name) }

// OfComposite reports whether an expression uses the connection details of the composite. A computed name is that of a
// composed resource.
func (d *DetailsUsed) OfComposite() bool {
	return slices.ContainsFunc(d.read.uses, func(u use) bool {
		return u.variable == "" && u.input == expression.Composite
	})
}

// Uses reports whether an expression or a find can use the connection details of a composed resource.
func (d *DetailsUsed) Uses(name string, o wire.Struct) bool {
	return d.ByName(name) || slices.ContainsFunc(d.finds, func(f *Find) bool {
		return f.Reaches(name) && f.Tagged(MetadataOf(o).Get("labels").Struct())
	})
}

// Tagged reports whether the labels of an object include the tags of a find.
func (f Find) Tagged(labels wire.Struct) bool {
	for k, v := range f.Tags {
		if l := labels.Get(k); l.Text() != v || !l.Exists() {
			return false
		}
	}
	return true
}
