package generator

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// refusals collects what is wrong with a section of the input.
type refusals struct{ errs field.ErrorList }

func (r *refusals) refuse(at *field.Path, format string, args ...any) {
	r.errs = append(r.errs, invalid(at, format, args...))
}

func invalid(at *field.Path, format string, args ...any) *field.Error {
	return field.Invalid(at, field.OmitValueType{}, fmt.Sprintf(format, args...))
}

// wrongText returns what is wrong with a text of one line, or nothing.
func wrongText(s string, most int) string {
	n := utf8.RuneCountInString(s)
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "has a line break, or another character that does not show: it must be one line of text"
	case n > most:
		return fmt.Sprintf("has %d characters, over the limit of %d", n, most)
	}
	return ""
}

// DurationText is a duration without the parts at its end that are zero.
func DurationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
