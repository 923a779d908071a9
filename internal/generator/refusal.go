package generator

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// refusals collects the diagnostics of a section of the input.
type refusals struct{ errs field.ErrorList }

func (r *refusals) refuse(at *field.Path, format string, args ...any) {
	r.errs = append(r.errs, invalid(at, format, args...))
}

func invalid(at *field.Path, format string, args ...any) *field.Error {
	return field.Invalid(at, field.OmitValueType{}, fmt.Sprintf(format, args...))
}

// wrongText returns the diagnostic of a text of one line, or an empty text.
func wrongText(s string, most int) string {
	n := utf8.RuneCountInString(s)
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "has a line break or another invisible character: write one line of text"
	case n > most:
		return fmt.Sprintf("has %d characters, over the limit of %d", n, most)
	}
	return ""
}

// DurationText returns a duration without the zero parts at its end.
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
