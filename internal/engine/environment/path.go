package environment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

const maxFieldPath = 512 // characters

// A Path is the path of a field in an object, for example widgets.list[0] or
// metadata.labels[example.org/team]. It is immutable. [ParsePath] returns a path.
type Path struct{ segments fieldpath.Segments }

// ParsePath parses a path. Its errors are written so that they can follow the name of a field, as in
// "toFieldPath: must not have a wildcard".
func ParsePath(p string) (Path, error) {
	if n := utf8.RuneCountInString(p); n > maxFieldPath {
		return Path{}, fmt.Errorf("has %d characters, over the limit of %d", n, maxFieldPath)
	}
	segments, err := fieldpath.Parse(p)
	if err != nil {
		return Path{}, fmt.Errorf("cannot be parsed as a field path: %w", err)
	}
	if len(segments) == 0 || segments[0].Type != fieldpath.SegmentField {
		return Path{}, errors.New("must begin with the name of a field")
	}
	for _, s := range segments {
		if s.Type == fieldpath.SegmentField && s.Field == "" {
			return Path{}, errors.New("must not have an empty name")
		}
		if s.Type == fieldpath.SegmentField && s.Field == "*" {
			return Path{}, errors.New("must not have a wildcard: name the field")
		}
	}
	return Path{segments}, nil
}

// String returns the path in its shortest form, which can be parsed again.
func (p Path) String() string { return p.segments.String() }

// Covers reports whether writing p replaces the other path: p is the same path or above it.
func (p Path) Covers(other Path) bool {
	n := len(p.segments)
	return n <= len(other.segments) && slices.Equal(p.segments, other.segments[:n])
}

// Set returns the environment, which may be nil, with the value at the path. The result shares the
// values that are not on the path. Objects and lists on the path are created if they are absent or
// null. An index must be in the list, or follow its last item. A nil value is null. Errors contain
// paths, but no data.
func Set(env *structpb.Struct, p Path, v *structpb.Value) (*structpb.Struct, error) {
	if v == nil {
		v = structpb.NewNullValue()
	}
	out, err := p.set(structpb.NewStructValue(env), 0, v)
	if err != nil {
		return nil, fmt.Errorf("cannot set %q: %w", p, err)
	}
	return out.GetStructValue(), nil
}

// Remove returns the environment without the value at the path. The result shares the values that are
// not on the path. The object that contains the value remains, even if it becomes empty. An item of a
// list becomes null, so that the other items keep their index.
func Remove(env *structpb.Struct, p Path) *structpb.Struct {
	if v, _ := p.Find(wire.Of(env)); !v.Exists() {
		return env
	}
	out, _ := p.set(structpb.NewStructValue(env), 0, nil) // it exists
	return out.GetStructValue()
}

// isTop reports whether the path is zero, which is the object itself.
func (p Path) isTop() bool { return len(p.segments) == 0 }

func (p Path) largestIndex() (largest uint) {
	for _, s := range p.segments {
		largest = max(largest, s.Index)
	}
	return largest
}

// Find returns the value at the path, which may be null. If there is no value, free reports whether it could be set:
// all values above it are objects and lists.
func (p Path) Find(s wire.Struct) (v wire.Value, free bool) {
	v = wire.OfStruct(s)
	for _, segment := range p.segments {
		name, isName := segment.Field, segment.Type == fieldpath.SegmentField
		switch {
		case v.IsNull():
			v = wire.Value{}
		case v.Kind() == wire.Object && isName:
			v = v.Struct().Get(name)
		case v.Kind() == wire.Array && !isName && segment.Index < uint(v.List().Len()):
			v = v.List().At(int(segment.Index))
		case v.Kind() == wire.Array && !isName:
			v = wire.Value{}
		default:
			return wire.Value{}, false
		}
	}
	return v, true
}

func (p Path) set(old *structpb.Value, depth int, v *structpb.Value) (*structpb.Value, error) {
	if depth == len(p.segments) {
		return v, nil
	}
	s, at := p.segments[depth], Path{p.segments[:depth]}
	was, free := child(old, s)
	switch {
	case !free && s.Type == fieldpath.SegmentField:
		return nil, fmt.Errorf("%q is not an object", at)
	case !free:
		return nil, fmt.Errorf("%q is not a list", at)
	case s.Type == fieldpath.SegmentIndex && s.Index > uint(len(old.GetListValue().GetValues())):
		return nil, fmt.Errorf("%q has fewer than %d items, and nothing may be left out", at, s.Index)
	}
	now, err := p.set(was, depth+1, v)
	if err != nil {
		return nil, err
	}
	return with(old, s, now), nil
}

// child returns the value of v at a segment, or nil. free reports whether v can have the segment, or v
// is nil.
func child(v *structpb.Value, s fieldpath.Segment) (c *structpb.Value, free bool) {
	switch k := v.GetKind().(type) {
	case nil, *structpb.Value_NullValue:
		return nil, true
	case *structpb.Value_StructValue:
		if s.Type == fieldpath.SegmentField {
			return k.StructValue.GetFields()[s.Field], true
		}
	case *structpb.Value_ListValue:
		values := k.ListValue.GetValues()
		if s.Type == fieldpath.SegmentIndex && s.Index < uint(len(values)) {
			return values[s.Index], true
		}
		return nil, s.Type == fieldpath.SegmentIndex
	}
	return nil, false
}

// with returns a copy of v, which may be nil, that has c at a segment. If c is nil, with removes a field, and sets an
// item to null. Missing items before it are null.
func with(v *structpb.Value, s fieldpath.Segment, c *structpb.Value) *structpb.Value {
	if s.Type == fieldpath.SegmentIndex {
		if c == nil {
			c = structpb.NewNullValue()
		}
		values := slices.Clone(v.GetListValue().GetValues())
		if more := int(s.Index) + 1 - len(values); more > 0 { //nolint:gosec // a list is not that long
			values = append(values, slices.Repeat([]*structpb.Value{structpb.NewNullValue()}, more)...)
		}
		values[s.Index] = c
		return structpb.NewListValue(&structpb.ListValue{Values: values})
	}
	fields := maps.Clone(v.GetStructValue().GetFields())
	if fields == nil {
		fields = map[string]*structpb.Value{}
	}
	fields[s.Field] = c
	if c == nil {
		delete(fields, s.Field)
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

// holding returns an object that contains only v at the path, or v itself at the top level.
func (p Path) holding(v *structpb.Value) *structpb.Struct {
	for _, s := range slices.Backward(p.segments) {
		v = with(nil, s, v)
	}
	return v.GetStructValue()
}
