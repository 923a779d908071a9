// Package fieldpath parses paths of fields as Crossplane does, for example spec.items[0].name or
// metadata.annotations[example.org/a].
//
// It is the syntax of crossplane-runtime's package of the same name, which cannot be imported: it brings
// controller-runtime, client-go and the whole API of Kubernetes. A test compares both.
package fieldpath

import (
	"fmt"
	"strconv"
	"strings"
)

// A SegmentType says what a segment selects.
type SegmentType int

// A segment selects a field of an object, or an item of a list.
const (
	SegmentField SegmentType = iota + 1
	SegmentIndex
)

// A Segment is one step of a path.
type Segment struct {
	Type  SegmentType
	Field string
	Index uint
}

// Segments are the steps of a path.
type Segments []Segment

// String returns the path in its shortest form.
func (s Segments) String() string {
	var b strings.Builder
	for _, step := range s {
		switch {
		case step.Type == SegmentIndex:
			fmt.Fprintf(&b, "[%d]", step.Index)
		case step.Field == "*" || strings.Contains(step.Field, "."):
			b.WriteString("[" + step.Field + "]")
		default:
			b.WriteString("." + step.Field)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// Field returns the segment of a field, without the quotes around its name.
func Field(name string) Segment {
	return Segment{Type: SegmentField, Field: strings.Trim(name, `'"`)}
}

// FieldOrIndex returns the segment of what is in brackets: an index if it is a number of 32 bits, or a field.
func FieldOrIndex(s string) Segment {
	if i, err := strconv.ParseUint(s, 10, 32); err == nil {
		return Segment{Type: SegmentIndex, Index: uint(i)}
	}
	return Field(s)
}

// Parse returns the segments of a path. An empty path has none.
func Parse(path string) (Segments, error) {
	segments := make(Segments, 0, 1)
	for pos := 0; pos < len(path); {
		switch path[pos] {
		case '[':
			inside, err := bracket(path, pos)
			if err != nil {
				return nil, err
			}
			segments = append(segments, FieldOrIndex(inside))
			pos += len("[" + inside + "]")
		case ']':
			return nil, unexpected(path, pos)
		case '.':
			if pos == 0 || pos == len(path)-1 {
				return nil, unexpected(path, pos)
			}
			pos++
			if path[pos] == '.' || path[pos] == '[' {
				return nil, unexpected(path, pos)
			}
		default:
			end := len(path)
			if n := strings.IndexAny(path[pos:], ".[]"); n >= 0 {
				end = pos + n
			}
			segments = append(segments, Field(path[pos:end]))
			pos = end
		}
	}
	return segments, nil
}

// bracket returns what is between the bracket at a position and the next one.
func bracket(path string, pos int) (string, error) {
	inside, _, closed := strings.Cut(path[pos+1:], "]")
	if !closed {
		return "", fmt.Errorf("unterminated '[' at position %d", pos)
	}
	if inside == "" {
		return "", unexpected(path, pos+1)
	}
	if n := strings.IndexByte(inside, '['); n >= 0 {
		return "", unexpected(path, pos+1+n)
	}
	return inside, nil
}

func unexpected(path string, pos int) error {
	return fmt.Errorf("unexpected %q at position %d", path[pos], pos)
}
