// Package environment finds and merges EnvironmentConfigs.
//
// A section of the input is compiled into a [Lookup]. For each composite, the lookup returns what to
// request from Crossplane, and merges the EnvironmentConfigs with the environment of earlier steps.
// The result is the same as that of function-environment-configs for the same input, with four
// exceptions: EnvironmentConfigs are merged in the order of the list even if they have different
// paths, EnvironmentConfigs without data are ignored, the value of a label can only come from the
// environment of earlier steps, and an input that can never work is refused when it is compiled.
//
// Messages contain field paths, names of EnvironmentConfigs and their labels. They contain no other
// data of an environment, because it may be confidential.
package environment

import (
	"bytes"
	"cmp"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// maxIndex of a list in a toFieldPath, as in function-environment-configs. The elements before it are
// created.
const maxIndex = 1024

// labelText describes a valid name of a label, and a valid value.
const labelText = "use at most 63 letters, digits, '-', '_' and '.', and start and end with a letter or a digit"

// A Lookup is the compiled part of an environment that needs no expressions: everything except set.
// It is immutable, and safe for concurrent use.
type Lookup struct {
	at       *field.Path
	optional bool // a missing EnvironmentConfig is left out
	defaults *structpb.Struct
	configs  []v1beta1.EnvironmentSource
	paths    map[string]Path // by their texts; the empty text is the top level
}

// A Selector selects the EnvironmentConfig with the Name, or all that have the Labels. One of the two
// is set.
type Selector struct {
	Name   string
	Labels map[string]string
}

// Compile compiles a section of the input, which is at path and may be nil. It returns the
// diagnostics that the definition of the input does not report, in the order of the fields.
func Compile(path *field.Path, in *v1beta1.Environment) (*Lookup, diagnostic.List) {
	l := &Lookup{at: path}
	if in == nil {
		return l, nil
	}
	c := &compiler{paths: map[string]Path{}}
	l.optional = in.Policy != nil && in.Policy.Resolution == v1beta1.Optional
	l.defaults = c.defaults(path.Child("defaultData"), in.DefaultData)
	l.configs, l.paths = in.EnvironmentConfigs, c.paths
	for i, s := range l.configs {
		c.source(l.source(i), s)
	}
	if len(c.list) > 0 {
		return nil, c.list
	}
	return l, nil
}

// source returns the path of an item of environmentConfigs.
func (l *Lookup) source(i int) *field.Path { return l.at.Child("environmentConfigs").Index(i) }

// A compiler collects the diagnostics of an input, and its paths.
type compiler struct {
	list  diagnostic.List
	paths map[string]Path
}

func (c *compiler) refuse(at *field.Path, format string, args ...any) {
	c.list = append(c.list, wrong(at, format, args...))
}

func (c *compiler) defaults(at *field.Path, raw *v1beta1.JSON) *structpb.Struct {
	if raw == nil || len(raw.Raw) == 0 || string(bytes.TrimSpace(raw.Raw)) == "null" {
		return nil
	}
	s := &structpb.Struct{}
	if err := s.UnmarshalJSON(raw.Raw); err != nil { // its text may contain data
		c.refuse(at, "must be a JSON object")
	}
	return s
}

func (c *compiler) source(at *field.Path, in v1beta1.EnvironmentSource) {
	switch {
	case in.Type == v1beta1.EnvironmentSourceSelector && in.Selector != nil:
		c.selector(at.Child("selector"), in.Selector)
	case in.Type != v1beta1.EnvironmentSourceSelector && in.Ref != nil:
		for _, why := range path.IsValidPathSegmentName(in.Ref.Name) {
			c.refuse(at.Child("ref", "name"), "is not a valid name of an object: it %s", why)
		}
	}
	to := c.path(at.Child("toFieldPath"), in.ToFieldPath)
	if i := to.largestIndex(); i > maxIndex {
		c.refuse(at.Child("toFieldPath"), "has the index %d, over the limit of %d", i, maxIndex)
	}
}

func (c *compiler) selector(at *field.Path, in *v1beta1.EnvironmentSelector) {
	if in.Mode == v1beta1.EnvironmentSelectorMultiple {
		c.path(at.Child("sortByFieldPath"), sortBy(in))
	}
	for i, m := range in.MatchLabels {
		at := at.Child("matchLabels").Index(i)
		if m.Key != "" && len(validation.IsQualifiedName(m.Key)) > 0 {
			c.refuse(at.Child("key"), "is not a valid label key: %s; a DNS name and a slash may precede it", labelText)
		}
		switch {
		case m.Type != v1beta1.EnvironmentLabelValue:
			c.path(at.Child("valueFromFieldPath"), m.ValueFromFieldPath)
		case len(validation.IsValidLabelValue(ptr.Deref(m.Value, ""))) > 0:
			c.refuse(at.Child("value"), "is not a valid label value: %s", labelText)
		}
	}
}

func sortBy(in *v1beta1.EnvironmentSelector) string {
	return cmp.Or(in.SortByFieldPath, "metadata.name")
}

// path parses a path. An empty path is the top level, unless the definition refuses it.
func (c *compiler) path(at *field.Path, text string) Path {
	if text == "" {
		return Path{}
	}
	p, err := ParsePath(text)
	if err != nil {
		c.refuse(at, "%s", err)
	}
	c.paths[text] = p
	return p
}

// Selectors returns what to request from Crossplane: one item for each item of the list. An item is
// nil if none of its labels has a value. before is the environment of earlier steps, or empty. It
// always returns the same selectors for the same arguments.
func (l *Lookup) Selectors(composite, before wire.Struct) ([]*Selector, diagnostic.List) {
	out := make([]*Selector, len(l.configs))
	var list diagnostic.List
	for i, s := range l.configs {
		if s.Type != v1beta1.EnvironmentSourceSelector {
			out[i] = &Selector{Name: s.Ref.Name}
			continue
		}
		labels := map[string]string{} // if two have the same key, the last one counts
		for j, m := range s.Selector.MatchLabels {
			at := l.source(i).Child("selector", "matchLabels").Index(j).Child("valueFromFieldPath")
			v, ok, d := l.label(at, m, composite, before)
			if d != nil {
				list = append(list, d)
			} else if ok {
				labels[m.Key] = v
			}
		}
		if len(labels) > 0 {
			out[i] = &Selector{Labels: labels}
		}
	}
	if len(list) > 0 {
		return nil, list
	}
	return out, nil
}

// label returns the value of a label. It is not ok if the label is left out.
func (l *Lookup) label(
	at *field.Path, m v1beta1.EnvironmentLabelMatcher, composite, before wire.Struct,
) (text string, ok bool, d *diagnostic.Diagnostic) {
	if m.Type == v1beta1.EnvironmentLabelValue {
		return ptr.Deref(m.Value, ""), true, nil
	}
	in, name := composite, "the composite"
	if m.Type == v1beta1.EnvironmentLabelFromEnvironment {
		in, name = before, "the environment of earlier steps"
	}
	p := l.paths[m.ValueFromFieldPath]
	v, _ := p.Find(in)
	switch {
	case v.Kind() == wire.Text && len(validation.IsValidLabelValue(v.Text())) == 0:
		return v.Text(), true, nil
	case v.Kind() == wire.Text:
		return "", false, wrong(at, "the value at %q in %s is not a valid label value: %s", p, name, labelText)
	case m.FromFieldPathPolicy == v1beta1.Optional:
		return "", false, nil
	}
	const absent = "%s has no string at %q: set it, or set fromFieldPathPolicy to Optional"
	return "", false, wrong(at, absent, name, p)
}

func wrong(at *field.Path, format string, args ...any) *diagnostic.Diagnostic {
	return &diagnostic.Diagnostic{Path: at.String(), Rule: diagnostic.Input, Message: fmt.Sprintf(format, args...)}
}
