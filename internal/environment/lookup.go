// Package environment finds and merges EnvironmentConfigs.
//
// A section of the input comes in once and is compiled into a [Lookup]. Then, for
// each composite, that says what to ask Crossplane for, and merges what was found
// with the environment of earlier steps. It gives what function-environment-configs
// gives for the same input, but for four things: EnvironmentConfigs are merged in the
// order of the list even where they go to different paths, those without data give
// nothing, a label from the environment is one of earlier steps, and an input that
// could never work is refused when it is compiled.
//
// Messages name field paths, EnvironmentConfigs and their labels, and hold no other
// data of an environment, some of which is not for everyone.
package environment

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// maxIndex of a list in a toFieldPath, whose elements before it are made, too. It
// is the one of function-environment-configs.
const maxIndex = 1024

// A Lookup is the part of an environment that needs no expression: all but set,
// compiled. It is immutable, and safe for concurrent use.
type Lookup struct {
	at       *field.Path
	defaults *structpb.Struct
	sources  []source
}

// A source is one item of environmentConfigs.
type source struct {
	at     *field.Path
	finder finder
	to     Path // zero is the top
}

// A finder says what to ask for, and what to take of the answer.
type finder interface {
	// selector returns nil if nothing is to be asked for.
	selector(composite, before wire.Struct) (*Selector, field.ErrorList)

	// choose returns what is merged, in this order. It does not change found.
	choose(asked *Selector, found []wire.Struct) ([]wire.Struct, *field.Error)
}

// A Selector is what Crossplane is asked for: the EnvironmentConfig of a Name, or all
// that have the Labels. One of the two is set.
type Selector struct {
	Name   string
	Labels map[string]string
}

// Compile compiles a section of the input, which lies at path and may be nil, or
// returns all its faults in the order of the fields.
func Compile(path *field.Path, in *v1beta1.Environment) (*Lookup, field.ErrorList) {
	if in == nil {
		return &Lookup{at: path}, nil
	}
	c := &compiler{policy: path.Child("policy", "resolution")}
	if in.Policy != nil {
		c.optional = in.Policy.Resolution == v1beta1.Optional
	}
	l := &Lookup{at: path, defaults: c.defaults(path.Child("defaultData"), in.DefaultData)}
	at := path.Child("environmentConfigs")
	for i, s := range in.EnvironmentConfigs[:c.length(at, len(in.EnvironmentConfigs))] {
		l.sources = append(l.sources, c.source(at.Index(i), s))
	}
	if in.Policy != nil {
		c.oneOf(c.policy, in.Policy.Resolution, v1beta1.Required, v1beta1.Optional)
	}
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	return l, nil
}

// Selectors returns what to ask Crossplane for, one item for each that is listed. It
// is nil where nothing is to be asked for, since none of its labels has a value.
// before is the environment as earlier steps left it, or none. The same arguments
// give the same selectors.
func (l *Lookup) Selectors(composite, before wire.Struct) ([]*Selector, field.ErrorList) {
	out := make([]*Selector, 0, len(l.sources))
	var faults field.ErrorList
	for _, s := range l.sources {
		asked, fs := s.finder.selector(composite, before)
		out = append(out, asked)
		faults = append(faults, fs...)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return out, nil
}

// A compiler collects the faults of an input.
type compiler struct {
	policy   *field.Path
	optional bool
	faults   field.ErrorList
}

func (c *compiler) defaults(at *field.Path, raw *runtime.RawExtension) *structpb.Struct {
	if raw == nil || len(raw.Raw) == 0 || string(bytes.TrimSpace(raw.Raw)) == "null" {
		return nil
	}
	s := &structpb.Struct{}
	if err := s.UnmarshalJSON(raw.Raw); err != nil { // whose text may hold data
		c.fault(at, "must be a JSON object")
	}
	return s
}

func (c *compiler) source(at *field.Path, in v1beta1.EnvironmentSource) source {
	s := source{at: at}
	switch c.oneOf(at.Child("type"), in.Type, v1beta1.EnvironmentSourceReference, v1beta1.EnvironmentSourceSelector) {
	case v1beta1.EnvironmentSourceReference:
		s.finder = c.reference(at.Child("ref"), in.Ref)
	case v1beta1.EnvironmentSourceSelector:
		s.finder = c.selector(at.Child("selector"), in.Selector)
	}
	if in.ToFieldPath == "" {
		return s
	}
	at = at.Child("toFieldPath")
	s.to = c.path(at, in.ToFieldPath)
	if i := s.to.largestIndex(); i > maxIndex {
		c.fault(at, "has the index %d, over the limit of %d", i, maxIndex)
	}
	return s
}

func (c *compiler) path(at *field.Path, text string) Path {
	p, err := ParsePath(text)
	if err != nil {
		c.fault(at, "%s", err)
	}
	return p
}

// oneOf returns the word, the first of those it may be if it is empty, and nothing
// if it is none of them.
func (c *compiler) oneOf(at *field.Path, word string, known ...string) string {
	switch {
	case word == "":
		return known[0]
	case slices.Contains(known, word):
		return word
	}
	last := len(known) - 1
	c.fault(at, "must be %s or %s", strings.Join(known[:last], ", "), known[last])
	return ""
}

// length returns how many items to look at: of a list over its limit none.
func (c *compiler) length(at *field.Path, n int) int {
	if n <= limits.ListItems {
		return n
	}
	f := invalid(at, "has %d items, over the limit of %d: split the input into several pipeline steps", n, limits.ListItems)
	f.Type = field.ErrorTypeTooMany
	c.faults = append(c.faults, f)
	return 0
}

func (c *compiler) fault(at *field.Path, format string, args ...any) {
	c.faults = append(c.faults, invalid(at, format, args...))
}

// missing is a fault that may be another one's, which says why it is missing.
func (c *compiler) missing(at *field.Path, detail string) {
	f := invalid(at, "%s", detail)
	f.Type = field.ErrorTypeRequired
	c.faults = append(c.faults, f)
}

func invalid(at *field.Path, format string, args ...any) *field.Error {
	return &field.Error{Type: field.ErrorTypeInvalid, Field: at.String(), BadValue: field.OmitValueType{}, Detail: fmt.Sprintf(format, args...)}
}

// several joins the first few, sorted, and counts the rest.
func several(items []string) string {
	items = slices.Sorted(slices.Values(items))
	if n := len(items) - limits.MessageItems; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:limits.MessageItems], ", "), n)
	}
	return strings.Join(items, ", ")
}
