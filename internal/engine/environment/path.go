package environment

import (
	"cmp"
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
	for i, s := range p.segments {
		above := Path{p.segments[:i]}
		at, _ := above.Find(wire.Of(env))
		isName := s.Type == fieldpath.SegmentField
		switch {
		case isName && !at.IsNull() && at.Kind() != wire.Object:
			return nil, fmt.Errorf("cannot set %q: %q is not an object", p, above)
		case !isName && !at.IsNull() && at.Kind() != wire.Array:
			return nil, fmt.Errorf("cannot set %q: %q is not a list", p, above)
		case !isName && s.Index > uint(at.List().Len()):
			return nil, fmt.Errorf("cannot set %q: %q has fewer than %d items, and nothing may be left out",
				p, above, s.Index)
		}
	}
	return with(structpb.NewStructValue(env), p.segments, v).GetStructValue(), nil
}

// Remove returns the environment without the value at the path. The result shares the values that are
// not on the path. The object that contains the value remains, even if it becomes empty. An item of a
// list becomes null, so that the other items keep their index.
func Remove(env *structpb.Struct, p Path) *structpb.Struct {
	if v, _ := p.Find(wire.Of(env)); !v.Exists() {
		return env
	}
	return with(structpb.NewStructValue(env), p.segments, nil).GetStructValue()
}

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

// with returns a copy of v, which may be nil, that has c at a path. If c is nil, with removes a field, and sets an item
// to null. Missing items before an index are null.
func with(v *structpb.Value, path fieldpath.Segments, c *structpb.Value) *structpb.Value {
	if len(path) == 0 {
		return c
	}
	s, rest := path[0], path[1:]
	if s.Type == fieldpath.SegmentIndex {
		values := slices.Clone(v.GetListValue().GetValues())
		if more := int(s.Index) + 1 - len(values); more > 0 {
			values = append(values, slices.Repeat([]*structpb.Value{structpb.NewNullValue()}, more)...)
		}
		values[s.Index] = cmp.Or(with(values[s.Index], rest, c), structpb.NewNullValue())
		return structpb.NewListValue(&structpb.ListValue{Values: values})
	}
	fields := maps.Clone(v.GetStructValue().GetFields())
	if fields == nil {
		fields = map[string]*structpb.Value{}
	}
	if fields[s.Field] = with(fields[s.Field], rest, c); fields[s.Field] == nil {
		delete(fields, s.Field)
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

// holding returns an object that contains only v at the path, or v itself at the top level.
func (p Path) holding(v *structpb.Value) *structpb.Struct {
	return with(nil, p.segments, v).GetStructValue()
}
