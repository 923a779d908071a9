package strict

import (
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// maxWhole is the largest number that a Struct always holds exactly.
const maxWhole = 1 << 53

// scalar checks a text or a number.
func (d *decoder) scalar(n Node) diagnostic.List {
	text := n.Value.GetStringValue()
	switch {
	case n.Schema.Type == "integer":
		return d.number(n.Schema, n.At, n.Value.GetNumberValue())
	case n.Schema.GoType == "Duration":
		if _, err := time.ParseDuration(text); err != nil {
			_ = d.refuse(n.At, "must be a duration, for example 60s or 1h30m; a day is 24h")
		}
	case n.Schema.GoType == "Time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			_ = d.refuse(n.At, "must be a time, for example 2026-01-31T09:00:00Z")
		}
	case n.Schema.Type == "string":
		if d.declared != nil && !n.Schema.Expression {
			d.literal(n)
		}
		return d.text(n, text)
	}
	return nil
}

//nolint:gocyclo // one case for each bound
func (d *decoder) text(n Node, text string) diagnostic.List {
	s, length := n.Schema, utf8.RuneCountInString(text)
	switch {
	case length == 0 && s.Expression:
		return d.wrong(n.At, "must not be empty: in an expression, write an empty text as \"''\"")
	case s.MinLength != nil && length < *s.MinLength || length == 0 && s.NotEmpty:
		return d.wrong(n.At, "must not be empty: %sset a value", leaveOut(n))
	case s.MaxLength != nil && length > *s.MaxLength && s.Expression:
		return d.wrong(n.At, "has %d characters, over the limit of %d: split it into variables", length, *s.MaxLength)
	case s.MaxLength != nil && length > *s.MaxLength:
		return d.wrong(n.At, "has %d characters, over the limit of %d", length, *s.MaxLength)
	case s.Enum != nil && !slices.Contains(s.Enum, any(text)):
		return d.wrong(n.At, "must be %s", definition.Either(s.Enum))
	case s.Matches(text):
		return nil
	}
	instead := ""
	if name := expressionFor(n); name != "" {
		instead = "; to compute it, write an expression in the field " + name
	}
	return d.wrong(n.At, "is not valid: write a text that matches %s%s%s", s.Pattern, example(s), instead)
}

// example returns the example of a field, or an empty text.
func example(s *definition.Schema) string {
	if s.Example == nil {
		return ""
	}
	return fmt.Sprintf(", for example %v", s.Example)
}

func (d *decoder) number(s *definition.Schema, at *field.Path, f float64) diagnostic.List {
	switch low, high := s.Minimum, s.Maximum; {
	case f < 0 || f > maxWhole || f != math.Trunc(f):
		_ = d.refuse(at, "must be a whole number, 0 or more")
	case low != nil && high != nil && (f < *low || f > *high):
		return d.wrong(at, "is %v: must be %v to %v", f, *low, *high)
	case low != nil && f < *low:
		return d.wrong(at, "is %v: must be at least %v", f, *low)
	}
	return nil
}

// size checks the number of items of a list or an object.
func (d *decoder) size(n Node, size int, low, high *int, instead string) diagnostic.List {
	switch {
	case low != nil && size < *low:
		return d.wrong(n.At, "must not be empty: %sadd an item", leaveOut(n))
	case high != nil && size > *high:
		return d.wrong(n.At, "has %d items, over the limit of %d%s", size, *high, instead)
	}
	return nil
}

// leaveOut returns the other hint for an empty value.
func leaveOut(n Node) string {
	if n.Above != nil && slices.Contains(n.Above.Schema.Required, n.Name) {
		return ""
	}
	return "leave it out, or "
}
