package definition

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// A Finding is a diagnostic with the facts that decide whether another diagnostic replaces it.
type Finding struct {
	*diagnostic.Diagnostic

	// Missing is set if a field is missing. Another field may be misspelt.
	Missing bool

	// Unbounded is set if a list is over its limit. The items of the list are not checked.
	Unbounded bool

	// Object is the path of the object whose fields exclude each other or are missing.
	Object string

	// Reads are the paths of the fields that are compared, if there are several.
	Reads []string
}

// Check an input. It does not report unknown fields and values of a wrong type: the decoder of the
// input reports them.
func Check(in *structpb.Struct) []Finding {
	c := &check{}
	c.object(Exports(), place{}, in)
	return c.findings
}

type check struct{ findings []Finding }

// A place in the input. Its path is only formatted for a diagnostic.
type place struct {
	above *place
	name  string // of a field, or a key
	index int    // of an item
	item  bool   // of a list
	key   bool   // of a map
	must  bool   // it is required
}

// String returns the path.
func (p place) String() string {
	switch {
	case p.above == nil:
		return "input"
	case p.item:
		return fmt.Sprintf("%s[%d]", p.above, p.index)
	case p.key:
		return fmt.Sprintf("%s[%s]", p.above, p.name)
	case p.above.above == nil:
		return p.name
	}
	return p.above.String() + "." + p.name
}

func (c *check) add(at place, format string, args ...any) {
	d := &diagnostic.Diagnostic{Path: at.String(), Rule: diagnostic.Input, Message: fmt.Sprintf(format, args...)}
	c.findings = append(c.findings, Finding{Diagnostic: d})
}

// value checks a value, and returns it in the form that rules read. It is not ok if a rule that
// reads the value would only repeat a diagnostic of it.
func (c *check) value(s *Schema, at place, v *structpb.Value) (self any, ok bool) {
	start := len(c.findings)
	before := start
	switch v := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		if s.Type != "object" {
			return nil, false
		}
		self = c.object(s, at, v.StructValue)
	case *structpb.Value_ListValue:
		if s.Type != "array" || !c.length(s, at, len(v.ListValue.GetValues())) {
			return nil, false
		}
		before = len(c.findings) // a rule about an empty list may be more specific
		self = c.list(s, at, v.ListValue.GetValues())
	case *structpb.Value_StringValue:
		if s.Type != "string" {
			return nil, false
		}
		c.text(s, at, v.StringValue)
		self = v.StringValue
	case *structpb.Value_NumberValue:
		if s.Type != "integer" || v.NumberValue != math.Trunc(v.NumberValue) {
			return nil, false
		}
		c.number(s, at, v.NumberValue)
		self = int64(v.NumberValue)
	case *structpb.Value_BoolValue:
		return v.BoolValue, s.Type == "boolean"
	default:
		return nil, false
	}
	if s.Type != "object" {
		ok = len(c.findings) == before && c.rules(s, at, self, nil, start) && len(c.findings) == before
		return self, ok
	}
	return self, true
}

func (c *check) object(s *Schema, at place, o *structpb.Struct) any {
	start := len(c.findings)
	self := make(map[string]any, len(o.GetFields())+1) // see escaped
	var refused []string
	if s.PreserveUnknown {
		self = o.AsMap()
	}
	for name, field := range o.GetFields() {
		below := place{above: &at, name: name, key: s.AdditionalProperties != nil}
		below.must = slices.Contains(s.Required, name)
		schema := cmp.Or(s.Properties[name], s.AdditionalProperties)
		if schema == nil {
			continue
		}
		v, ok := c.value(schema, below, field)
		if !ok {
			refused = append(refused, name)
		}
		if v != nil {
			self[name] = v
		}
	}
	for _, name := range s.Required {
		if _, ok := o.GetFields()[name]; !ok {
			c.missing(s.Properties[name], place{above: &at, name: name})
			refused = append(refused, name)
		}
	}
	switch n := len(o.GetFields()); {
	case s.MinProperties != nil && n < *s.MinProperties:
		c.add(at, "must not be empty: %sadd an item", leaveOut(at))
	case s.MaxProperties != nil && n > *s.MaxProperties:
		c.add(at, "has %d items, over the limit of %d", n, *s.MaxProperties)
		c.findings[len(c.findings)-1].Unbounded = true
	default:
		c.rules(s, at, self, refused, start)
	}
	return self
}

func (c *check) missing(s *Schema, at place) {
	text := "must be set"
	if s.Example != nil {
		text += fmt.Sprintf(", for example %v", s.Example)
	}
	c.add(at, "%s", text)
	c.findings[len(c.findings)-1].Missing = true
}

// leaveOut returns the other hint for an empty value.
func leaveOut(at place) string {
	if at.must {
		return ""
	}
	return "leave it out, or "
}

func (c *check) length(s *Schema, at place, n int) bool {
	switch {
	case s.MinItems != nil && n < *s.MinItems:
		c.add(at, "must not be empty: %sadd an item", leaveOut(at))
	case s.MaxItems != nil && n > *s.MaxItems:
		c.add(at, "has %d items, over the limit of %d: split the input into several pipeline steps", n, *s.MaxItems)
		c.findings[len(c.findings)-1].Unbounded = true
		return false
	}
	return true
}

func (c *check) list(s *Schema, at place, items []*structpb.Value) any {
	self, first := make([]any, 0, len(items)), map[string]int{}
	for i, item := range items {
		path := place{above: &at, index: i, item: true}
		v, ok := c.value(s.Items, path, item)
		self = append(self, v)
		name, isText := v.(string)
		if len(s.ListMapKeys) == 1 {
			fields, _ := v.(map[string]any)
			name, isText = fields[s.ListMapKeys[0]].(string)
		}
		if !ok || !isText || name == "" || s.ListType != "set" && s.ListType != "map" {
			continue
		}
		other, twice := first[name]
		switch {
		case !twice:
			first[name] = i
		case s.ListType == "set":
			c.add(path, "%q is listed twice", name)
		default:
			key := s.ListMapKeys[0]
			c.add(place{above: &path, name: key}, "%q is also the %s of %s[%d]: rename one of them", name, key, at, other)
		}
	}
	return self
}

func (c *check) text(s *Schema, at place, text string) {
	n := utf8.RuneCountInString(text)
	switch {
	case s.MinLength != nil && n < *s.MinLength:
		c.add(at, "must not be empty: %sset a value", leaveOut(at))
	case s.MaxLength != nil && n > *s.MaxLength:
		c.add(at, "has %d characters, over the limit of %d", n, *s.MaxLength)
	case s.Enum != nil && !slices.Contains(s.Enum, any(text)):
		c.add(at, "must be %s", either(s.Enum))
	case s.Pattern != nil:
		if re, err := s.Pattern.compile(); err != nil || !re.MatchString(text) {
			c.add(at, "must match %s", s.Pattern)
		}
	}
}

func (c *check) number(s *Schema, at place, n float64) {
	switch low, high := s.Minimum, s.Maximum; {
	case (low == nil || n >= *low) && (high == nil || n <= *high):
	case low != nil && high != nil:
		c.add(at, "is %v: must be %v to %v", n, *low, *high)
	case low != nil:
		c.add(at, "is %v: must be at least %v", n, *low)
	default:
		c.add(at, "is %v: must be at most %v", n, *high)
	}
}

// rules checks a value against the rules that do not read refused fields. It is not ok if a rule
// cannot be evaluated, for example because the value is not a duration. A rule that does not hold
// replaces the diagnostics of the same field since start, where the value begins.
func (c *check) rules(s *Schema, at place, self any, refused []string, start int) bool {
	var told []string // fields for which a rule does not hold: only the first rule is reported
	for _, r := range s.Rules {
		if at.above == nil || slices.ContainsFunc(refused, func(f string) bool { return slices.Contains(r.fields(), f) }) {
			continue // the one rule of the whole input compares lists: see validate of the plan
		}
		holds, err := r.Holds(self)
		if err != nil {
			return false
		}
		if holds {
			continue
		}
		if f := broken(r, at.String(), self); !slices.Contains(told, f.Path) {
			told = append(told, f.Path)
			others := slices.DeleteFunc(c.findings[start:], func(o Finding) bool { return o.Path == f.Path })
			c.findings = append(c.findings[:start+len(others)], f)
		}
	}
	return true
}

// broken returns the diagnostic for a rule that does not hold for an object or a single value.
func broken(r *Rule, at string, self any) Finding {
	d := &diagnostic.Diagnostic{Path: at + r.FieldPath, Rule: diagnostic.Input, Message: r.Message}
	f := Finding{Diagnostic: d, Reads: []string{at}}
	object, isObject := self.(map[string]any)
	if isObject && len(r.fields()) > 0 {
		f.Reads = nil
		for _, name := range r.fields() {
			f.Reads = append(f.Reads, at+"."+name)
		}
	}
	f.Missing = r.FieldPath != "" && object[strings.TrimPrefix(r.FieldPath, ".")] == nil
	if named, some, exclusive := r.Presence(); r.FieldPath == "" && (some || exclusive) {
		if set := present(object, named); len(set) > 1 {
			f.Path, f.Message = at+"."+set[1], fmt.Sprintf("must not be set together with %s: keep one of them", set[0])
		} else {
			f.Message, f.Missing = "must have "+either(named), true
			if fmt.Sprint(named[0]) == "extract" {
				f.Message += ": write for example extract: {key: db}"
			}
		}
		f.Object = at
	}
	return f
}

// either joins words with commas and "or".
func either[T any](words []T) string {
	texts := make([]string, 0, len(words))
	for _, w := range words {
		texts = append(texts, fmt.Sprint(w))
	}
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}
