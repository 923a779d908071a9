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
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
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
	policy   *field.Path // which makes references optional
	optional bool
	defaults *structpb.Struct
	sources  []source
}

// A source is one item of environmentConfigs.
type source struct {
	at *field.Path
	to Path   // zero is the top level
	by chosen // the EnvironmentConfigs that are asked for
}

// chosen is the EnvironmentConfig with a name, or those with the labels. If there may be many, at
// least min and at most max are merged, in the order of sortBy.
type chosen struct {
	at     *field.Path // of the ref's name, or of the selector
	name   string
	labels []Label

	many     bool
	min, max uint64
	sortBy   Path
}

// A Label is a label whose value is Text, or the value at Path, in the environment of earlier steps or in the
// composite.
type Label struct {
	Key, Text   string
	Path        Path
	Environment bool
	Optional    bool // it is left out if the path has no value

	at *field.Path // of the valueFromFieldPath
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
	l := &Lookup{at: path, policy: path.Child("policy", "resolution")}
	if in == nil {
		return l, nil
	}
	c := &compiler{}
	l.optional = in.Policy != nil && in.Policy.Resolution == v1beta1.Optional
	l.defaults = c.defaults(path.Child("defaultData"), in.DefaultData)
	for i, s := range in.EnvironmentConfigs {
		l.sources = append(l.sources, c.source(path.Child("environmentConfigs").Index(i), s))
	}
	if len(c.list) > 0 {
		return nil, c.list
	}
	return l, nil
}

// A compiler collects the diagnostics of an input.
type compiler struct{ list diagnostic.List }

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

func (c *compiler) source(at *field.Path, in v1beta1.EnvironmentSource) source {
	s := source{at: at}
	switch {
	case in.Type == v1beta1.EnvironmentSourceSelector && in.Selector != nil:
		s.by = c.selector(at.Child("selector"), in.Selector)
	case in.Type != v1beta1.EnvironmentSourceSelector && in.Ref != nil:
		s.by = chosen{at: at.Child("ref", "name"), name: in.Ref.Name}
		for _, why := range path.IsValidPathSegmentName(in.Ref.Name) {
			c.refuse(s.by.at, "is not a valid name of an object: it %s", why)
		}
	}
	s.to = c.path(at.Child("toFieldPath"), in.ToFieldPath)
	if i := s.to.largestIndex(); i > maxIndex {
		c.refuse(at.Child("toFieldPath"), "has the index %d, over the limit of %d", i, maxIndex)
	}
	return s
}

func (c *compiler) selector(at *field.Path, in *v1beta1.EnvironmentSelector) chosen {
	out := chosen{at: at, many: in.Mode == v1beta1.EnvironmentSelectorMultiple, max: math.MaxUint64}
	if in.MaxMatch != nil {
		out.max = *in.MaxMatch
	}
	if in.MinMatch != nil {
		out.min = *in.MinMatch
	}
	if out.many {
		out.sortBy = c.path(at.Child("sortByFieldPath"), cmp.Or(in.SortByFieldPath, "metadata.name"))
	}
	for i, m := range in.MatchLabels {
		out.labels = append(out.labels, c.matcher(at.Child("matchLabels").Index(i), m))
	}
	return out
}

func (c *compiler) matcher(at *field.Path, in v1beta1.EnvironmentLabelMatcher) Label {
	m := Label{
		at: at.Child("valueFromFieldPath"), Key: in.Key,
		Environment: in.Type == v1beta1.EnvironmentLabelFromEnvironment,
		Optional:    in.FromFieldPathPolicy == v1beta1.Optional,
	}
	if in.Key != "" && len(validation.IsQualifiedName(in.Key)) > 0 {
		c.refuse(at.Child("key"), "is not a valid label key: %s; a DNS name and a slash may precede it", labelText)
	}
	switch {
	case in.Type != v1beta1.EnvironmentLabelValue:
		m.Path = c.path(m.at, in.ValueFromFieldPath)
	case in.Value != nil:
		m.Optional, m.Text = false, *in.Value
		if len(validation.IsValidLabelValue(m.Text)) > 0 {
			c.refuse(at.Child("value"), "is not a valid label value: %s", labelText)
		}
	}
	return m
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
	return p
}

// Selectors returns what to request from Crossplane: one item for each item of the list. An item is
// nil if none of its labels has a value. before is the environment of earlier steps, or empty. It
// always returns the same selectors for the same arguments.
func (l *Lookup) Selectors(composite, before wire.Struct) ([]*Selector, diagnostic.List) {
	out := make([]*Selector, len(l.sources))
	var list diagnostic.List
	for i, s := range l.sources {
		if s.by.name != "" {
			out[i] = &Selector{Name: s.by.name}
			continue
		}
		labels := map[string]string{} // if two have the same key, the last one counts
		for _, m := range s.by.labels {
			v, ok, d := m.value(composite, before)
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

// value of the label. It is not ok if the label is left out.
func (m Label) value(composite, before wire.Struct) (text string, ok bool, d *diagnostic.Diagnostic) {
	if m.Path.isTop() {
		return m.Text, true, nil
	}
	in, name := composite, "the composite"
	if m.Environment {
		in, name = before, "the environment of earlier steps"
	}
	v, _ := m.Path.Find(in)
	switch {
	case v.Kind() == wire.Text && len(validation.IsValidLabelValue(v.Text())) == 0:
		return v.Text(), true, nil
	case v.Kind() == wire.Text:
		return "", false, wrong(m.at, "the value at %q in %s is not a valid label value: %s", m.Path, name, labelText)
	case m.Optional:
		return "", false, nil
	}
	const absent = "%s has no string at %q: set it, or set fromFieldPathPolicy to Optional"
	return "", false, wrong(m.at, absent, name, m.Path)
}

func wrong(at *field.Path, format string, args ...any) *diagnostic.Diagnostic {
	return &diagnostic.Diagnostic{Path: at.String(), Rule: diagnostic.Input, Message: fmt.Sprintf(format, args...)}
}

// several lists the first names, sorted, in parentheses.
func several(names []string) string {
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	if more := len(names) - limits.MessageItems; more > 0 {
		names = append(names[:limits.MessageItems], fmt.Sprintf("%d more", more))
	}
	return " (" + strings.Join(names, ", ") + ")"
}
