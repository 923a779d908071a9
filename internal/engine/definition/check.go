package definition

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// Check an input against the bounds and the rules of the definition, in the order of the fields. The input must have
// the fields and the types of the definition: package strict checks them before.
//
// A rule is not checked if it reads a field that has a diagnostic of its own. Patterns are not checked, because an
// editor reads them: the plan checks the same names, and says more about them.
func Check(in *structpb.Struct) diagnostic.List { return CheckAs(Exports(), in) }

// CheckAs is like Check for an object with a schema of its own.
func CheckAs(s *Schema, in *structpb.Struct) diagnostic.List {
	_, found := object(s, nil, false, in)
	return found
}

// value returns a value in the form that rules read, and its diagnostics.
func value(s *Schema, at *field.Path, required bool, v *structpb.Value) (self any, found diagnostic.List) {
	if s.Type == "" && s.PreserveUnknown {
		return v.AsInterface(), nil
	}
	switch v := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return object(s, at, required, v.StructValue)
	case *structpb.Value_ListValue:
		self, found = list(s, at, required, v.ListValue.GetValues())
	case *structpb.Value_StringValue:
		self, found = v.StringValue, text(s, at, required, v.StringValue)
	case *structpb.Value_NumberValue:
		self, found = int64(v.NumberValue), number(s, at, v.NumberValue)
	case *structpb.Value_BoolValue:
		self = v.BoolValue
	}
	for _, r := range s.Rules {
		if len(found) == 0 && !r.Holds(self) {
			found = wrong(at, "%s", r.Message)
		}
	}
	return self, found
}

func object(s *Schema, at *field.Path, required bool, o *structpb.Struct) (any, diagnostic.List) {
	if s.PreserveUnknown {
		return o.AsMap(), nil
	}
	names, self := s.Names, make(map[string]any, len(o.GetFields())+1) // see escaped
	if s.AdditionalProperties != nil {
		names = slices.Sorted(maps.Keys(o.GetFields()))
	}
	var refused []string
	below := make([]diagnostic.List, len(names)) // for each name, so that rules add to them in order
	for i, name := range names {
		must := slices.Contains(s.Required, name)
		v, ok := o.GetFields()[name]
		switch {
		case ok && s.AdditionalProperties != nil:
			self[name], below[i] = value(s.AdditionalProperties, at.Key(name), false, v)
		case ok:
			self[name], below[i] = value(s.Properties[name], at.Child(name), must, v)
		case must:
			below[i] = missing(s.Properties[name], at.Child(name))
		}
		if len(below[i]) > 0 {
			refused = append(refused, name)
		}
	}
	whole := count(at, len(o.GetFields()), s.MinProperties, s.MaxProperties, required, "")
	for _, r := range s.Rules {
		reads := func(name string) bool { return slices.Contains(refused, name) }
		if at == nil || slices.ContainsFunc(r.Fields(), reads) || r.Holds(self) {
			continue // the rule of the whole input compares lists: the plan does so, and names the items
		}
		d := r.broken(at, self)
		name, _, _ := strings.Cut(strings.TrimPrefix(r.FieldPath, "."), ".")
		if i := slices.Index(names, name); i < 0 {
			whole = append(whole, d)
		} else if len(below[i]) == 0 {
			below[i] = diagnostic.List{d}
		}
	}
	return self, slices.Concat(whole, slices.Concat(below...))
}

func list(s *Schema, at *field.Path, required bool, items []*structpb.Value) (any, diagnostic.List) {
	const instead = ": split the input into several pipeline steps"
	if found := count(at, len(items), s.MinItems, s.MaxItems, required, instead); found != nil {
		return nil, found
	}
	var found diagnostic.List
	self, first := make([]any, 0, len(items)), map[string]int{}
	for i, item := range items {
		v, wrongs := value(s.Items, at.Index(i), false, item)
		self, found = append(self, v), append(found, wrongs...)
		name, _ := v.(string)
		if len(s.ListMapKeys) == 1 {
			fields, _ := v.(map[string]any)
			name, _ = fields[s.ListMapKeys[0]].(string)
		}
		other, twice := first[name]
		switch {
		case name == "" || s.ListType != "set" && s.ListType != "map":
		case !twice:
			first[name] = i
		case s.ListType == "set":
			found = append(found, wrong(at.Index(i), "%q is listed twice", name)...)
		default:
			key := s.ListMapKeys[0]
			found = append(found, wrong(at.Index(i).Child(key), "%q is also the %s of %s: rename one of them",
				name, key, at.Index(other))...)
		}
	}
	return self, found
}

func missing(s *Schema, at *field.Path) diagnostic.List {
	if s.Example != nil {
		return wrong(at, "must be set, for example %v", s.Example)
	}
	return wrong(at, "must be set")
}

// count checks the number of items of a list or an object.
func count(at *field.Path, n int, low, high *int, required bool, instead string) diagnostic.List {
	switch {
	case low != nil && n < *low:
		return wrong(at, "must not be empty: %sadd an item", leaveOut(required))
	case high != nil && n > *high:
		return wrong(at, "has %d items, over the limit of %d%s", n, *high, instead)
	}
	return nil
}

func text(s *Schema, at *field.Path, required bool, text string) diagnostic.List {
	n := utf8.RuneCountInString(text)
	switch {
	case n == 0 && s.Expression:
		return wrong(at, "must not be empty: in an expression, write an empty text as \"''\"")
	case s.MinLength != nil && n < *s.MinLength || n == 0 && s.NotEmpty:
		return wrong(at, "must not be empty: %sset a value", leaveOut(required))
	case s.MaxLength != nil && n > *s.MaxLength && s.Expression:
		return wrong(at, "has %d characters, over the limit of %d: split it into variables", n, *s.MaxLength)
	case s.MaxLength != nil && n > *s.MaxLength:
		return wrong(at, "has %d characters, over the limit of %d", n, *s.MaxLength)
	case s.Enum != nil && !slices.Contains(s.Enum, any(text)):
		return wrong(at, "must be %s", either(s.Enum))
	}
	return nil
}

func number(s *Schema, at *field.Path, n float64) diagnostic.List {
	switch low, high := s.Minimum, s.Maximum; {
	case low != nil && high != nil && (n < *low || n > *high):
		return wrong(at, "is %v: must be %v to %v", n, *low, *high)
	case low != nil && n < *low:
		return wrong(at, "is %v: must be at least %v", n, *low)
	case high != nil && n > *high:
		return wrong(at, "is %v: must be at most %v", n, *high)
	}
	return nil
}

// leaveOut returns the other hint for an empty value.
func leaveOut(required bool) string {
	if required {
		return ""
	}
	return "leave it out, or "
}

func wrong(at *field.Path, format string, args ...any) diagnostic.List {
	return diagnostic.List{{Path: at.String(), Rule: diagnostic.Input, Message: fmt.Sprintf(format, args...)}}
}

// either joins words with commas and "or".
func either[T any](words []T) string {
	texts := strings.Fields(strings.Trim(fmt.Sprint(words), "[]"))
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}
