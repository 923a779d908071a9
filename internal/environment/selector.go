package environment

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// labelText is what the name of a label, and its value, is made of.
const labelText = "use at most 63 letters, digits, '-', '_' and '.', and start and end with a letter or a digit"

func (c *compiler) selector(at *field.Path, in *v1beta1.EnvironmentSelector) finder {
	if in == nil {
		c.missing(at, "must be set for type Selector")
		return nil
	}
	mode := c.oneOf(at.Child("mode"), in.Mode, v1beta1.EnvironmentSelectorSingle, v1beta1.EnvironmentSelectorMultiple)
	if mode != v1beta1.EnvironmentSelectorMultiple {
		return single{c.labels(at, in.MatchLabels)}
	}
	m := multiple{max: math.MaxUint64, sortBy: nameOfObject}
	if in.MaxMatch != nil {
		m.max = *in.MaxMatch
	}
	if in.MinMatch != nil {
		m.min = *in.MinMatch
	}
	if in.SortByFieldPath != "" {
		m.sortBy = c.path(at.Child("sortByFieldPath"), in.SortByFieldPath)
	}
	m.labels = c.labels(at, in.MatchLabels)
	return m
}

// Labels find EnvironmentConfigs. A label that is there twice has its last value.
type labels struct {
	at       *field.Path // of the selector
	matchers []matcher
}

// A matcher is a label whose value is text, or lies at path.
type matcher struct {
	at       *field.Path // of the valueFromFieldPath
	key      string
	text     string
	before   bool // in the environment, otherwise in the composite
	path     Path
	optional bool
}

func (c *compiler) labels(at *field.Path, in []v1beta1.EnvironmentLabelMatcher) labels {
	out := labels{at: at}
	at = at.Child("matchLabels")
	for i, m := range in[:c.length(at, len(in))] {
		out.matchers = append(out.matchers, c.matcher(at.Index(i), m))
	}
	return out
}

func (c *compiler) matcher(at *field.Path, in v1beta1.EnvironmentLabelMatcher) matcher {
	from := c.oneOf(at.Child("type"), in.Type, v1beta1.EnvironmentLabelFromComposite, v1beta1.EnvironmentLabelFromEnvironment, v1beta1.EnvironmentLabelValue)
	m := matcher{at: at.Child("valueFromFieldPath"), key: in.Key, before: from == v1beta1.EnvironmentLabelFromEnvironment}
	switch {
	case in.Key == "":
		c.missing(at.Child("key"), "must be set")
	case len(validation.IsQualifiedName(in.Key)) > 0:
		c.fault(at.Child("key"), "is no key of a label: %s; a DNS name and a slash may stand before", labelText)
	}
	switch from {
	case v1beta1.EnvironmentLabelValue:
		m.text = c.labelValue(at.Child("value"), in.Value)
	case v1beta1.EnvironmentLabelFromComposite, v1beta1.EnvironmentLabelFromEnvironment:
		m.path = c.valueFrom(m.at, in.ValueFromFieldPath, from)
		policy := c.oneOf(at.Child("fromFieldPathPolicy"), in.FromFieldPathPolicy, v1beta1.Required, v1beta1.Optional)
		m.optional = policy == v1beta1.Optional
	}
	return m
}

func (c *compiler) labelValue(at *field.Path, value *string) string {
	if value == nil {
		c.missing(at, "must be set for type Value")
		return ""
	}
	if len(validation.IsValidLabelValue(*value)) > 0 {
		c.fault(at, "is no value of a label: %s", labelText)
	}
	return *value
}

func (c *compiler) valueFrom(at *field.Path, path, from string) Path {
	if path == "" {
		c.missing(at, fmt.Sprintf("must be set for type %s: name a field, or set type to Value", from))
		return Path{}
	}
	return c.path(at, path)
}

func (l labels) selector(composite, before wire.Struct) (*Selector, field.ErrorList) {
	out := map[string]string{}
	var faults field.ErrorList
	for _, m := range l.matchers {
		v, ok, fault := m.value(composite, before)
		switch {
		case fault != nil:
			faults = append(faults, fault)
		case ok:
			out[m.key] = v
		}
	}
	if len(faults) > 0 || len(out) == 0 {
		return nil, faults
	}
	return &Selector{Labels: out}, nil
}

// value of the label. It is not ok if the label is left out.
func (m matcher) value(composite, before wire.Struct) (text string, ok bool, fault *field.Error) {
	if m.path.isTop() {
		return m.text, true, nil
	}
	in, name := composite, "the composite"
	if m.before {
		in, name = before, "the environment of earlier steps"
	}
	v, _ := Get(in, m.path)
	switch v.Kind() {
	case wire.Text:
		if len(validation.IsValidLabelValue(v.Text())) > 0 {
			return "", false, invalid(m.at, "what %s has at %q is no value of a label: %s", name, m.path, labelText)
		}
		return v.Text(), true, nil
	case wire.Absent, wire.Null:
		fault = invalid(m.at, "%s has nothing at %q: set it, or set fromFieldPathPolicy to Optional", name, m.path)
	default:
		fault = invalid(m.at, "what %s has at %q is not a string: use a field that is one, or set fromFieldPathPolicy to Optional", name, m.path)
	}
	if m.optional {
		return "", false, nil
	}
	return "", false, fault
}

// single is a selector of mode Single.
type single struct{ labels }

func (s single) choose(asked *Selector, found []wire.Struct) ([]wire.Struct, *field.Error) {
	const needs = "mode Single needs one EnvironmentConfig with the labels %s, and "
	switch len(found) {
	case 1:
		return found, nil
	case 0:
		return nil, invalid(s.at, needs+"none has them: give them to one, or correct matchLabels", asked.labels())
	}
	return nil, invalid(s.at, needs+"%d have them (%s): match a label that only one of them has, or set mode to Multiple",
		asked.labels(), len(found), several(namesOf(found)))
}

// labels that were asked for, as kubectl takes them.
func (s *Selector) labels() string {
	var out []string
	for k, v := range s.Labels {
		out = append(out, k+"="+v)
	}
	return several(out)
}
