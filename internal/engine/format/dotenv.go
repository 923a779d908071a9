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
	plain := func(r rune) bool { return isPlain(r) || strings.ContainsRune("_-./:@%+,", r) }
	switch {
	case strings.ContainsRune(s, 0):
		return "", errNUL
	case strings.ContainsRune(s, '\r'):
		return "", errors.New("a value contains a carriage return, which readers change")
	case strings.Contains(s, "${"):
		return "", errors.New("a value contains ${, which readers replace")
	case strings.HasSuffix(s, `\`):
		return "", errors.New("a value ends with a backslash, which readers take for an escape of the quote")
	case s != "" && strings.TrimFunc(s, plain) == "":
		return s, nil
	case !strings.Contains(s, "'") && !strings.Contains(s, `\\`):
		return "'" + s + "'", nil
	case strings.ContainsAny(s, "$`"):
		return "", errors.New("a value contains a single quote or two backslashes, together with $ or a backtick, " +
			"which readers do not quote in the same way")
	case strings.HasSuffix(s, `"`):
		return "", errors.New("a value contains a single quote or two backslashes, and ends with a double quote, " +
			"which readers do not quote in the same way")
	}
	return `"` + escapeDotenv.Replace(s) + `"`, nil
}

// isVariable reports whether a text is the name of a variable of a shell.
func isVariable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !isPlain(r) && r != '_' }) && (s[0] < '0' || s[0] > '9')
}
