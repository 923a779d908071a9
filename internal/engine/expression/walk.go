package expression

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// upTo returns the reference to the first steps of a path.
func (r Reference) upTo(n int) Reference {
	r.Path = r.Path[:min(n, len(r.Path))]
	r.must, r.tested = min(r.must, len(r.Path)), r.tested && n == len(r.Path)
	return r
}

// in returns the reference with the computed indices that it has in the data, as far as a message may name them.
func (r Reference) in(vars cel.Activation) Reference {
	for i, s := range r.Path {
		key, ok := s.computed(vars)
		if !ok {
			continue
		}
		r.Path = slices.Clone(r.Path)
		r.Path[i].Key = key
	}
	return r
}

// longestName is the length of the longest name of an object.
const longestName = 253

func (s Step) computed(vars cel.Activation) (string, bool) {
	var b strings.Builder
	for _, p := range s.parts {
		text := types.String(p.text)
		if p.read.Variable != "" {
			_, v, end := walk(vars, p.read)
			if text, _ = v.(types.String); text == "" || end != endPresent {
				return "", false
			}
		}
		b.WriteString(string(text))
	}
	return b.String(), s.Any() && b.Len() > 0 && b.Len() <= longestName
}

// An end is the reason why a walk along a path ended.
type end int

const (
	endPresent end = iota // the path exists
	endAbsent             // a key is missing, a list too short, or a parent null
	endScalar             // a parent has no keys
	endUnknown            // the key is not known from the source
)

// walk follows a path through the data. It returns the number of steps that exist, and the value after them.
func walk(vars cel.Activation, r Reference) (int, ref.Val, end) {
	root, ok := vars.ResolveName(r.Variable)
	if !ok {
		return 0, nil, endUnknown
	}
	v := types.DefaultTypeAdapter.NativeToValue(root)
	for i, s := range r.Path {
		next, e := step(v, s)
		if e != endPresent {
			return i, v, e
		}
		v = next
	}
	return len(r.Path), v, endPresent
}

func step(v ref.Val, s Step) (ref.Val, end) {
	if s.Any() || types.IsUnknownOrError(v) {
		return nil, endUnknown
	}
	switch t := v.(type) {
	case traits.Mapper:
		return stepInto(t, s)
	case traits.Lister:
		i, ok := s.Key.(int64)
		if !ok {
			return nil, endScalar
		}
		if n, _ := t.Size().(types.Int); i < 0 || types.Int(i) >= n {
			return nil, endAbsent
		}
		return t.Get(types.Int(i)), endPresent
	case types.Null:
		return nil, endAbsent
	}
	return nil, endScalar
}

func stepInto(m traits.Mapper, s Step) (ref.Val, end) {
	k, ok := s.Key.(string)
	if !ok {
		return nil, endUnknown
	}
	switch v, found := m.Find(types.String(k)); {
	case v != nil && types.IsError(v):
		return nil, endUnknown
	case !found:
		return nil, endAbsent
	default:
		return v, endPresent
	}
}
