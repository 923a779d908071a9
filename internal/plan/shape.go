package plan

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A decoder turns a google.protobuf.Struct into the input type. Crossplane does
// not validate it, so all that the type does not have is a fault here: an
// unknown field, which would be ignored silently, and a value of another type.
//
// encoding/json would stop at the first of them, and know neither an index nor
// what the field should be.
type decoder struct {
	faults field.ErrorList

	// Where a fault was, and where else something may seem to be missing for it.
	wrong []string
	near  map[string]bool

	objects []parent // those that the value at hand is in
}

// A parent is an object that others are in.
type parent struct {
	path  *field.Path
	names []string
}

// maxWhole is the largest number that a Struct is sure to hold as it was written.
const maxWhole = 1 << 53

// decode what can be decoded.
func decode(s *structpb.Struct) (*v1beta1.Exports, *decoder) {
	in := &v1beta1.Exports{}
	d := &decoder{near: map[string]bool{}}
	if s == nil {
		d.refuse(nil, invalid(nil, "must be set: give the pipeline step a field input, of kind Exports"))
		return in, d
	}
	d.value(nil, structpb.NewStructValue(s), reflect.ValueOf(in).Elem())
	return in, d
}

// explains reports whether something is only missing, or wrong, because it could not be
// decoded, or was misspelt.
func (d *decoder) explains(f *field.Error) bool {
	below := func(wrong string) bool { return wrong == pathText(nil) || strings.HasPrefix(f.Field, wrong) }
	return slices.Contains(d.wrong, f.Field) || f.Type == field.ErrorTypeRequired && (d.near[f.Field] || slices.ContainsFunc(d.wrong, below))
}

// value decodes v into out, which stays zero where it cannot be.
func (d *decoder) value(p *field.Path, v *structpb.Value, out reflect.Value) {
	switch out.Interface().(type) {
	case metav1.ObjectMeta: // a KRM object may have one; nothing reads it
		d.want(p, v, out.Type(), "an object", v.GetStructValue() != nil)
		return
	case metav1.Duration:
		d.duration(p, v, out)
		return
	case runtime.RawExtension:
		if raw, err := v.GetStructValue().MarshalJSON(); d.want(p, v, out.Type(), "an object", v.GetStructValue() != nil && err == nil) {
			out.Set(reflect.ValueOf(runtime.RawExtension{Raw: raw}))
		}
		return
	}
	switch out.Kind() { //nolint:exhaustive // the kinds that the input type has
	case reflect.Pointer:
		out.Set(reflect.New(out.Type().Elem()))
		d.value(p, v, out.Elem())
	case reflect.Struct:
		if d.want(p, v, out.Type(), "an object", v.GetStructValue() != nil) {
			d.fields(p, v.GetStructValue(), out)
		}
	case reflect.Slice:
		if d.want(p, v, out.Type(), "a list", v.GetListValue() != nil) {
			d.list(p, v.GetListValue(), out)
		}
	case reflect.Map:
		if d.want(p, v, out.Type(), "an object", v.GetStructValue() != nil) {
			d.strings(p, v.GetStructValue(), out)
		}
	case reflect.String:
		if _, ok := v.GetKind().(*structpb.Value_StringValue); d.want(p, v, out.Type(), "a string", ok) {
			out.SetString(v.GetStringValue())
		}
	case reflect.Bool:
		if _, ok := v.GetKind().(*structpb.Value_BoolValue); d.want(p, v, out.Type(), "true or false", ok) {
			out.SetBool(v.GetBoolValue())
		}
	case reflect.Uint64:
		n := v.GetNumberValue()
		if _, ok := v.GetKind().(*structpb.Value_NumberValue); d.want(p, v, out.Type(), "a number", ok) {
			if n < 0 || n > maxWhole || n != math.Trunc(n) {
				d.refuse(p, invalid(p, "must be a whole number, 0 or more"))
				return
			}
			out.SetUint(uint64(n))
		}
	}
}

func (d *decoder) fields(p *field.Path, s *structpb.Struct, out reflect.Value) {
	known := jsonFields(out.Type())
	names := make([]string, 0, len(known))
	for _, f := range known {
		names = append(names, f.name)
	}
	d.objects = append(d.objects, parent{p, names})
	defer func() { d.objects = d.objects[:len(d.objects)-1] }()
	for _, f := range known {
		v, ok := s.GetFields()[f.name]
		if !ok {
			continue
		}
		at := child(p, f.name)
		d.value(at, v, out.FieldByIndex(f.index))
		// A pointer says that an empty one is a value, too.
		if s, ok := v.GetKind().(*structpb.Value_StringValue); ok && s.StringValue == "" && f.typ.Kind() == reflect.String {
			mend := "leave it out, or give it a value"
			switch {
			case isExpression(at):
				mend = "an empty text is \"''\" in an expression"
			case f.required:
				mend = "give it a value"
			}
			d.refuse(at, invalid(at, "must not be empty: %s", mend))
		}
	}
	for _, k := range sortedKeys(s.GetFields()) {
		if slices.Contains(names, k) {
			continue
		}
		if d.full() {
			break
		}
		d.unknown(child(p, k), k, s.GetFields()[k], known)
	}
}

func (d *decoder) list(p *field.Path, l *structpb.ListValue, out reflect.Value) {
	n := len(l.GetValues())
	out.Set(reflect.MakeSlice(out.Type(), n, n))
	for i, e := range l.GetValues() {
		d.value(p.Index(i), e, out.Index(i))
	}
}

// strings decodes a map of strings, the only maps that there are.
func (d *decoder) strings(p *field.Path, s *structpb.Struct, out reflect.Value) {
	out.Set(reflect.MakeMap(out.Type()))
	for _, k := range sortedKeys(s.GetFields()) {
		if d.full() {
			break
		}
		v := reflect.New(out.Type().Elem()).Elem()
		d.value(p.Key(k), s.GetFields()[k], v)
		out.SetMapIndex(reflect.ValueOf(k), v)
	}
}

func (d *decoder) duration(p *field.Path, v *structpb.Value, out reflect.Value) {
	var t metav1.Duration
	_, ok := v.GetKind().(*structpb.Value_StringValue)
	if !ok || t.UnmarshalJSON([]byte(strconv.Quote(v.GetStringValue()))) != nil {
		d.refuse(p, invalid(p, "must be a duration, for example 60s or 1h30m; a day is 24h"))
	}
	out.Set(reflect.ValueOf(t))
}

// want refuses a value of another type.
func (d *decoder) want(p *field.Path, v *structpb.Value, t reflect.Type, want string, ok bool) bool {
	if !ok {
		d.refuse(p, invalid(p, "must be %s, but is %s%s", want, kindOf(v), d.mend(p, v, t)))
	}
	return ok
}

// full reports whether there are as many faults as are listed.
func (d *decoder) full() bool { return len(d.faults) >= limits.Faults }

func (d *decoder) refuse(p *field.Path, f *field.Error) {
	if d.full() {
		return
	}
	at := pathText(p)
	d.faults = append(d.faults, f)
	d.wrong = append(d.wrong, at)
	if i := strings.LastIndexByte(at, '.'); i >= 0 {
		d.near[at[:i]] = true
	}
}

// invalid is a fault at a path, nil being the input itself.
func invalid(p *field.Path, format string, args ...any) *field.Error {
	return &field.Error{Type: field.ErrorTypeInvalid, Field: pathText(p), BadValue: field.OmitValueType{}, Detail: fmt.Sprintf(format, args...)}
}

func pathText(p *field.Path) string {
	if p == nil {
		return "input"
	}
	return p.String()
}

// child is a field of p, where nil is the input itself.
func child(p *field.Path, name string) *field.Path {
	if p == nil {
		return field.NewPath(name)
	}
	return p.Child(name)
}

type jsonField struct {
	name  string
	index []int
	typ   reflect.Type

	required bool
}

// jsonFields of a struct type in their order, those of inlined structs among
// them.
func jsonFields(t reflect.Type) []jsonField {
	var out []jsonField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			out = append(out, jsonField{name, f.Index, f.Type, options != "omitempty"})
			continue
		}
		for _, inner := range jsonFields(f.Type) {
			out = append(out, jsonField{inner.name, append([]int{i}, inner.index...), inner.typ, inner.required})
		}
	}
	return out
}

func kindOf(v *structpb.Value) string { return kindText(wire.OfValue(v).Kind()) }

func kindText(k wire.Kind) string {
	switch k {
	case wire.Text:
		return "a string"
	case wire.Number:
		return "a number"
	case wire.Bool:
		return "a boolean"
	case wire.Array:
		return "a list"
	case wire.Object:
		return "an object"
	}
	return "null"
}

// sortFaults puts them in the order of the input: fields in the order of their
// type, unknown ones behind them, and list items and positions in an expression
// by number.
func sortFaults(faults field.ErrorList) {
	slices.SortStableFunc(faults, func(a, b *field.Error) int { return comparePaths(a.Field, b.Field) })
}

func comparePaths(a, b string) int {
	x, y := pathSteps(a), pathSteps(b)
	t := reflect.TypeFor[v1beta1.Exports]()
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return cmp.Or(cmp.Compare(rank(t, x[i]), rank(t, y[i])), strings.Compare(x[i], y[i]))
		}
		t = below(t, x[i])
	}
	return cmp.Compare(len(x), len(y))
}

func pathSteps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]:", r) })
}

// rank of a step below a value of type t.
func rank(t reflect.Type, step string) int {
	if t.Kind() == reflect.Struct {
		if i := slices.IndexFunc(jsonFields(t), func(f jsonField) bool { return f.name == step }); i >= 0 {
			return i
		}
	} else if n, err := strconv.Atoi(step); err == nil {
		return n
	}
	return math.MaxInt
}

// below is the type one step below t; of what has nothing below it t itself.
func below(t reflect.Type, step string) reflect.Type {
	switch t.Kind() { //nolint:exhaustive // the others have nothing below them
	case reflect.Struct:
		for _, f := range jsonFields(t) {
			if f.name == step && f.typ.Kind() == reflect.Pointer {
				return f.typ.Elem()
			}
			if f.name == step {
				return f.typ
			}
		}
	case reflect.Slice, reflect.Map:
		return t.Elem()
	}
	return t
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
