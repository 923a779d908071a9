package plan

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A decoder decodes a google.protobuf.Struct into the input type. Crossplane does not validate the
// input. Therefore the decoder reports unknown fields, which would be ignored, and values of
// another type.
//
// encoding/json would stop at the first of them. Its errors contain neither an index nor the
// expected type of the field.
type decoder struct {
	diagnostics diagnostic.List

	// Paths of diagnostics, and paths of fields that seem to be missing because of those diagnostics.
	wrong []string
	near  map[string]bool

	// Paths of values that are not decoded, because they are written for another tool or are in the
	// wrong place.
	refused []string

	texts    []textFound     // literal texts with placeholders of other tools
	declared map[string]bool // names in the input, after their variables; nil in an entry of a composite author

	objects []parent // that contain the current value
}

// A parent is an object that contains the current value.
type parent struct {
	path   *field.Path
	fields *jsonFields
	object *structpb.Struct
}

// maxWhole is the largest number that a Struct always holds exactly.
const maxWhole = 1 << 53

// decode the input as far as possible.
func decode(s *structpb.Struct) (*v1beta1.Exports, *decoder) {
	in := &v1beta1.Exports{}
	d := &decoder{near: map[string]bool{}, declared: declaredSteps(s)}
	if s == nil {
		d.refuse(nil, wrong(nil, "must be set: add an input of kind Exports to the pipeline step"))
		return in, d
	}
	d.value(nil, structpb.NewStructValue(s), reflect.ValueOf(in).Elem())
	return in, d
}

// explains reports whether a field only seems to be missing or wrong because it could not be
// decoded or is misspelt.
func (d *decoder) explains(path string, missing bool) bool {
	inside := func(refused string) bool {
		rest, ok := strings.CutPrefix(path, refused)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	if slices.ContainsFunc(d.refused, inside) {
		return true
	}
	below := func(wrong string) bool { return wrong == pathText(nil) || strings.HasPrefix(path, wrong) }
	return slices.Contains(d.wrong, path) || missing && (d.near[path] || slices.ContainsFunc(d.wrong, below))
}

// value decodes v into out. The parts of out that cannot be decoded stay zero.
func (d *decoder) value(p *field.Path, v *structpb.Value, out reflect.Value) {
	isObject := v.GetStructValue() != nil
	switch out.Type() {
	case reflect.TypeFor[metav1.ObjectMeta](): // a KRM object may have metadata, but nothing reads it
		d.want(p, v, out.Type(), "an object", isObject)
		return
	case reflect.TypeFor[metav1.Duration]():
		d.duration(p, v, out)
		return
	case reflect.TypeFor[runtime.RawExtension]():
		if raw, err := v.GetStructValue().MarshalJSON(); d.want(p, v, out.Type(), "an object", isObject && err == nil) {
			out.Set(reflect.ValueOf(runtime.RawExtension{Raw: raw}))
		}
		return
	}
	switch out.Kind() {
	case reflect.Pointer:
		out.Set(reflect.New(out.Type().Elem()))
		d.value(p, v, out.Elem())
	case reflect.Struct:
		if d.want(p, v, out.Type(), "an object", isObject) {
			d.fields(p, v.GetStructValue(), out)
		}
	case reflect.Slice:
		if d.want(p, v, out.Type(), "a list", v.GetListValue() != nil) {
			d.list(p, v.GetListValue(), out)
		} else if text := v.GetStringValue(); text != "" && out.Type().Elem().Kind() == reflect.String {
			out.Set(reflect.ValueOf([]string{text})) // what is meant, so that nothing else seems to be wrong
		}
	case reflect.Map:
		if d.want(p, v, out.Type(), "an object", isObject) {
			d.strings(p, v.GetStructValue(), out)
		}
	default:
		d.scalar(p, v, out)
	}
}

func (d *decoder) scalar(p *field.Path, v *structpb.Value, out reflect.Value) {
	switch out.Kind() { //nolint:exhaustive // the kinds that the input type has
	case reflect.String:
		if _, ok := v.GetKind().(*structpb.Value_StringValue); d.want(p, v, out.Type(), "a string", ok) {
			out.SetString(v.GetStringValue())
			d.literal(p, v.GetStringValue())
		}
	case reflect.Bool:
		if _, ok := v.GetKind().(*structpb.Value_BoolValue); d.want(p, v, out.Type(), "true or false", ok) {
			out.SetBool(v.GetBoolValue())
		}
	case reflect.Uint64:
		n := v.GetNumberValue()
		if _, ok := v.GetKind().(*structpb.Value_NumberValue); d.want(p, v, out.Type(), "a number", ok) {
			if n < 0 || n > maxWhole || n != math.Trunc(n) {
				d.refuse(p, wrong(p, "must be a whole number, 0 or more"))
				return
			}
			out.SetUint(uint64(n))
		}
	}
}

func (d *decoder) fields(p *field.Path, s *structpb.Struct, out reflect.Value) {
	if d.foreignEntry(p, s, out.Type()) {
		return
	}
	known := fieldsOf(out.Type())
	d.objects = append(d.objects, parent{p, known, s})
	defer func() { d.objects = d.objects[:len(d.objects)-1] }()
	found := 0
	for _, f := range known.list {
		v, ok := s.GetFields()[f.name]
		if !ok {
			continue
		}
		found++
		at := child(p, f.name)
		d.value(at, v, out.FieldByIndex(f.index))
		// If the field is a pointer, an empty text is also a value.
		if s, ok := v.GetKind().(*structpb.Value_StringValue); ok && s.StringValue == "" && f.typ.Kind() == reflect.String {
			d.refuse(at, wrong(at, "must not be empty: %s", hintEmpty(at, f.required)))
		}
	}
	if found == len(s.GetFields()) {
		return
	}
	for _, k := range SortedKeys(s.GetFields()) {
		if d.full() {
			break
		}
		if !slices.Contains(known.names, k) {
			d.unknown(child(p, k), k, s.GetFields()[k], known)
		}
	}
}

func (d *decoder) list(p *field.Path, l *structpb.ListValue, out reflect.Value) {
	n := len(l.GetValues())
	out.Set(reflect.MakeSlice(out.Type(), n, n))
	owner := 0 // the item that the items after it may belong to
	for i, e := range l.GetValues() {
		if i > 0 && d.dedented(p, l.GetValues(), owner, i, out.Type().Elem()) {
			continue
		}
		owner = i
		d.value(p.Index(i), e, out.Index(i))
	}
}

// strings decodes a map of strings. The input has no other maps.
func (d *decoder) strings(p *field.Path, s *structpb.Struct, out reflect.Value) {
	out.Set(reflect.MakeMap(out.Type()))
	for _, k := range SortedKeys(s.GetFields()) {
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
		d.refuse(p, wrong(p, "must be a duration, for example 60s or 1h30m; a day is 24h"))
	}
	out.Set(reflect.ValueOf(t))
}

// want refuses a value of another type.
func (d *decoder) want(p *field.Path, v *structpb.Value, t reflect.Type, want string, ok bool) bool {
	if !ok {
		d.refuse(p, wrong(p, "must be %s, but is %s%s", want, kindOf(v), d.hint(p, v, t)))
	}
	return ok
}

// full reports whether the list of diagnostics has reached its limit.
func (d *decoder) full() bool { return len(d.diagnostics) >= limits.Diagnostics }

func (d *decoder) refuse(p *field.Path, f *diagnostic.Diagnostic) {
	if d.full() {
		return
	}
	at := pathText(p)
	d.diagnostics = append(d.diagnostics, f)
	d.wrong = append(d.wrong, at)
	if i := strings.LastIndexByte(at, '.'); i >= 0 {
		d.near[at[:i]] = true
	}
}

// wrong returns a diagnostic of the field at a path. A nil path is the input itself.
func wrong(p *field.Path, format string, args ...any) *diagnostic.Diagnostic {
	return &diagnostic.Diagnostic{Path: pathText(p), Rule: diagnostic.Input, Message: fmt.Sprintf(format, args...)}
}

func pathText(p *field.Path) string {
	if p == nil {
		return "input"
	}
	return p.String()
}

// child returns a field of p. A nil path is the input itself.
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

// jsonFields are the fields of a struct type in order, including those of inlined structs.
type jsonFields struct {
	of    reflect.Type
	list  []jsonField
	names []string
}

// fieldsByType contains jsonFields by their reflect.Type. Finding them again for each value would
// take longer than decoding the value.
var fieldsByType sync.Map //nolint:gochecknoglobals // a cache

func fieldsOf(t reflect.Type) *jsonFields {
	if known, ok := fieldsByType.Load(t); ok {
		return known.(*jsonFields) //nolint:forcetypeassert // the cache holds nothing else
	}
	out := &jsonFields{of: t}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			out.list = append(out.list, jsonField{name, f.Index, f.Type, options != "omitempty"})
			continue
		}
		for _, inner := range fieldsOf(f.Type).list {
			out.list = append(out.list, jsonField{inner.name, append([]int{i}, inner.index...), inner.typ, inner.required})
		}
	}
	for _, f := range out.list {
		out.names = append(out.names, f.name)
	}
	fieldsByType.Store(t, out)
	return out
}

// typeOf returns the type of a field without its pointer, or nil if there is no such field.
func (j *jsonFields) typeOf(name string) reflect.Type {
	i := slices.Index(j.names, name)
	if i < 0 {
		return nil
	}
	if t := j.list[i].typ; t.Kind() != reflect.Pointer {
		return t
	}
	return j.list[i].typ.Elem()
}

func kindOf(v *structpb.Value) string { return kindText(wire.OfValue(v).Kind()) }

func kindText(k wire.Kind) string {
	switch k {
	case wire.Absent, wire.Null:
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

// SortDiagnostics sorts diagnostics in the order of the input: first the fields in the order of
// their type, then unknown fields. List items and positions in an expression are sorted by number.
func SortDiagnostics(diagnostics diagnostic.List) {
	places := make(map[*diagnostic.Diagnostic][]place, len(diagnostics))
	for _, d := range diagnostics {
		places[d] = placesOf(d.Path)
	}
	slices.SortStableFunc(diagnostics, func(a, b *diagnostic.Diagnostic) int {
		return cmp.Or(slices.CompareFunc(places[a], places[b], place.compare),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// A place is the place of one step of a path among the steps beside it.
type place struct {
	number int    // of a field in its type, or of an item in its list; the largest number for others
	name   string // sorts fields without a number
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.number, o.number), strings.Compare(p.name, o.name))
}

// placesOf returns the place of each step of a path in the input.
func placesOf(path string) []place {
	steps := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
	out, t := make([]place, len(steps)), reflect.TypeFor[v1beta1.Exports]()
	for i, step := range steps {
		out[i] = place{numberOf(t, step), step}
		t = below(t, step)
	}
	return out
}

// numberOf returns the number of a step below a value of type t.
func numberOf(t reflect.Type, step string) int {
	if t.Kind() == reflect.Struct {
		if i := slices.Index(fieldsOf(t).names, step); i >= 0 {
			return i
		}
	} else if n, err := strconv.Atoi(step); err == nil {
		return n
	}
	return math.MaxInt
}

// below returns the type one step below t, or t itself if nothing is below it.
func below(t reflect.Type, step string) reflect.Type {
	switch t.Kind() { //nolint:exhaustive // the others have nothing below them
	case reflect.Struct:
		if f := fieldsOf(t).typeOf(step); f != nil {
			return f
		}
	case reflect.Slice, reflect.Map:
		return t.Elem()
	}
	return t
}

// SortedKeys of a map.
func SortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
