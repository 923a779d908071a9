package format

import (
	"errors"
	"strings"
)

// Dotenv writes a file of environment variables that these readers read in the same way: the parser of Docker Compose
// (compose-go), joho/godotenv, python-dotenv, and a POSIX shell (set -a; . ./file). The keys are sorted.
//
// The readers have different escapes. A value is therefore written without quotes if it needs none, in single quotes
// if all readers agree about it there, and in double quotes otherwise. These values are errors, because no way to
// write them has the same meaning for all readers:
//
//   - NUL and carriage return: shells drop the first one, and python-dotenv and compose-go change the second one.
//   - ${ in any quotes: python-dotenv replaces it.
//   - a backslash at the end: godotenv and python-dotenv read it as an escape of the quote.
//   - a single quote, or two backslashes in a row, together with $ or a backtick: they need double quotes, where
//     python-dotenv does not know the escapes of $ and of a backtick.
//   - a single quote, or two backslashes in a row, and a double quote at the end: godotenv removes it.
func Dotenv(m map[string]any) (string, error) {
	return lines(m, func(key, value string) (string, error) {
		if !isVariable(key) {
			return "", errors.New(
				"a key is not the name of a variable: use letters, digits and _, and no digit at the beginning")
		}
		quoted, err := quoteDotenv(value)
		return key + "=" + quoted, err
	})
}

var escapeDotenv = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func quoteDotenv(s string) (string, error) {
	switch {
	case strings.ContainsAny(s, "\x00\r"), strings.Contains(s, "${"), strings.HasSuffix(s, `\`):
		return "", errors.New("a value contains a NUL character, a carriage return or ${, or ends with a backslash, " +
			"which readers change")
	case s != "" && strings.Trim(s, "_-./:@%+,"+plainCharacters) == "":
		return s, nil
	case !strings.Contains(s, "'") && !strings.Contains(s, `\\`):
		return "'" + s + "'", nil
	case strings.ContainsAny(s, "$`"), strings.HasSuffix(s, `"`):
		return "", errors.New("a value contains a single quote or two backslashes, together with $, a backtick, or a " +
			"double quote at the end, which readers do not quote in the same way")
	}
	return `"` + escapeDotenv.Replace(s) + `"`, nil
}

// isVariable reports whether a text is the name of a variable of a shell.
func isVariable(s string) bool {
	return strings.Trim(s, "_"+plainCharacters) == "" && s != "" && (s[0] < '0' || s[0] > '9')
}
