package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// decode turns a google.protobuf.Struct into the input type. Crossplane does
// not validate it, so all that the type does not have is a fault here: an
// unknown field, which would be ignored silently, and a value of another type.
//
// encoding/json would stop at the first of them, and know neither an index nor
// what the field should be.
func decode(s *structpb.Struct) (*v1beta1.Exports, field.ErrorList) {
	faults := checkShape(nil, structpb.NewStructValue(s), reflect.TypeFor[v1beta1.Exports]())
	for _, f := range faults {
		if f.Type != field.ErrorTypeForbidden {
			return nil, faults // not decodable
		}
	}
	in := &v1beta1.Exports{}
	b, err := s.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(b, in)
	}
	if err != nil {
		return nil, append(faults, invalid(nil, "cannot be decoded"))
	}
	return in, faults
}

// invalid is a fault at a path, nil being the input itself.
func invalid(p *field.Path, format string, args ...any) *field.Error {
	at := "input"
	if p != nil {
		at = p.String()
	}
	return &field.Error{Type: field.ErrorTypeInvalid, Field: at, BadValue: field.OmitValueType{}, Detail: fmt.Sprintf(format, args...)}
}

// child is a field of p, where nil is the input itself.
func child(p *field.Path, name string) *field.Path {
	if p == nil {
		return field.NewPath(name)
	}
	return p.Child(name)
}

func checkShape(p *field.Path, v *structpb.Value, t reflect.Type) field.ErrorList {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[metav1.ObjectMeta]():
		return wantKind(p, v, "an object", v.GetStructValue() != nil)
	case reflect.TypeFor[metav1.Duration]():
		var d metav1.Duration
		if s, ok := v.GetKind().(*structpb.Value_StringValue); !ok || json.Unmarshal([]byte(fmt.Sprintf("%q", s.StringValue)), &d) != nil {
			return field.ErrorList{invalid(p, `must be a duration, for example 60s or 1h30m`)}
		}
		return nil
	}
	switch t.Kind() { //nolint:exhaustive // the kinds that the input type has
	case reflect.Struct:
		if faults := wantKind(p, v, "an object", v.GetStructValue() != nil); faults != nil {
			return faults
		}
		return checkFields(p, v.GetStructValue(), t)
	case reflect.Slice:
		if faults := wantKind(p, v, "a list", v.GetListValue() != nil); faults != nil {
			return faults
		}
		var faults field.ErrorList
		for i, e := range v.GetListValue().GetValues() {
			faults = append(faults, checkShape(p.Index(i), e, t.Elem())...)
		}
		return faults
	case reflect.Map:
		if faults := wantKind(p, v, "an object", v.GetStructValue() != nil); faults != nil {
			return faults
		}
		var faults field.ErrorList
		for _, k := range sortedKeys(v.GetStructValue().GetFields()) {
			faults = append(faults, checkShape(p.Key(k), v.GetStructValue().GetFields()[k], t.Elem())...)
		}
		return faults
	case reflect.String:
		_, ok := v.GetKind().(*structpb.Value_StringValue)
		return wantKind(p, v, "a string", ok)
	case reflect.Bool:
		_, ok := v.GetKind().(*structpb.Value_BoolValue)
		return wantKind(p, v, "true or false", ok)
	}
	return field.ErrorList{invalid(p, "cannot be decoded")}
}

func checkFields(p *field.Path, s *structpb.Struct, t reflect.Type) field.ErrorList {
	known := jsonFields(t)
	var faults field.ErrorList
	for _, k := range sortedKeys(s.GetFields()) {
		ft, ok := known[k]
		if !ok {
			faults = append(faults, &field.Error{Type: field.ErrorTypeForbidden, Field: child(p, k).String(), BadValue: field.OmitValueType{}, Detail: "is an unknown field" + suggestion(k, sortedKeys(known))})
			continue
		}
		faults = append(faults, checkShape(child(p, k), s.GetFields()[k], ft)...)
	}
	return faults
}

// jsonFields of a struct type by their names in JSON, those of inlined structs
// among them.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			for n, ft := range jsonFields(f.Type) {
				out[n] = ft
			}
			continue
		}
		out[name] = f.Type
	}
	return out
}

func wantKind(p *field.Path, v *structpb.Value, want string, ok bool) field.ErrorList {
	if ok {
		return nil
	}
	if p == nil {
		return field.ErrorList{invalid(p, "must be %s", want)}
	}
	return field.ErrorList{invalid(p, "must be %s, but is %s", want, kindOf(v))}
}

func kindOf(v *structpb.Value) string {
	switch v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return "a string"
	case *structpb.Value_NumberValue:
		return "a number"
	case *structpb.Value_BoolValue:
		return "a boolean"
	case *structpb.Value_ListValue:
		return "a list"
	case *structpb.Value_StructValue:
		return "an object"
	}
	return "null"
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// suggestion names the known name that is nearest to a wrong one, if one is
// near: at most a third of its letters away.
func suggestion(wrong string, known []string) string {
	best, least := "", len(wrong)/3+1
	for _, k := range known {
		if d := distance(strings.ToLower(wrong), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", best)
}

// distance is the number of letters to insert, remove or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
