package format

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Properties writes a file that Java's java.util.Properties reads. The keys are sorted. All characters are ASCII: the
// others are escaped, so that it does not matter in which encoding the file is read.
func Properties(m map[string]any) (string, error) {
	return lines(m, func(key, value string) (string, error) {
		if key == "" {
			return "", errors.New("a key is empty")
		}
		key, err := utf8Text(key)
		if err != nil {
			return "", err
		}
		return escapeProperty(key, true) + "=" + escapeProperty(value, false), nil
	})
}

// escapeProperty escapes a key, or a value. In a value, only a space at the beginning needs an escape.
func escapeProperty(s string, key bool) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\\', r == ' ' && (key || i == 0), key && strings.ContainsRune("=:#!", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r > '~':
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04X`, u)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
