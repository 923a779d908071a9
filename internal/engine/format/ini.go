package format

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// INI writes a file of sections that these readers read in the same way: Python's configparser without interpolation
// (RawConfigParser), and gopkg.in/ini.v1 with its default options. AWS tools read their credentials files with them.
// The sections and the keys are sorted.
//
// The readers have no common quotes. Values that one of them would change are therefore errors: control characters,
// white space at the ends, a quote or a backtick at the beginning, a backslash at the end, # and ; (a comment) and %(
// (the name of another value). Two keys of a section may not differ only in case, because configparser ignores it.
func INI(sections map[string]any) (string, error) {
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(sections)) {
		entries, ok := sections[name].(map[string]any)
		if !ok {
			return "", errors.New("a section is not a map")
		}
		if err := checkSection(name); err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("[" + name + "]\n")
		seen := map[string]bool{}
		section, err := lines(entries, func(key, value string) (string, error) {
			switch lower := strings.ToLower(key); {
			case !isName(key):
				return "", errors.New("a key " + notName)
			case seen[lower]:
				return "", errors.New("two keys of a section differ only in case")
			default:
				seen[lower] = true
			}
			return key + " = " + value, checkINI(value)
		})
		if err != nil {
			return "", err
		}
		b.WriteString(section)
	}
	return b.String(), nil
}

func checkSection(name string) error {
	switch _, err := utf8Text(name); {
	case err != nil:
		return err
	case name == "" || !isTrimmed(name) || hasControl(name) || strings.ContainsAny(name, "[]#;\"'`\\"):
		return errors.New("the name of a section is empty, has white space at its ends, or contains a bracket, " +
			"a quote, a backslash, #, ; or a control character")
	}
	return nil
}

// checkINI refuses a value that one of the readers would change.
func checkINI(s string) error {
	if hasControl(s) || !isTrimmed(s) || strings.ContainsAny(s, "#;") || strings.Contains(s, "%(") ||
		strings.HasSuffix(s, `\`) || s != "" && strings.ContainsRune("\"'`", rune(s[0])) {
		return errors.New("a value has a line break or another control character, white space at its ends, #, ; or " +
			"%(, a quote or a backtick at the beginning, or a backslash at the end, which readers change")
	}
	return nil
}
