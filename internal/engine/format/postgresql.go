package format

import (
	"errors"
	"strings"
)

var (
	escapePgpass = strings.NewReplacer(`\`, `\\`, ":", `\:`)
	escapeLibpq  = strings.NewReplacer(`\`, `\\`, "'", `\'`)
)

// Pgpass writes a PostgreSQL password file, with a line for each map. The fields are host, port, database, username
// and password. A field that is absent is *, which matches everything. Only password is required.
//
// A file has no way to write a line break. Other readers than libpq remove white space at the ends of a line, and do
// not know the escape of a # at its beginning, so these are errors.
func Pgpass(entries []any) (string, error) {
	var b strings.Builder
	for _, e := range entries {
		m, ok := e.(map[string]any)
		if !ok {
			return "", errors.New("an element is not a map")
		}
		f := newFields(m, "host", "port", "database", "username", "password")
		parts := make([]string, 0, 5)
		for _, name := range []string{"host", "port", "database", "username"} {
			value := "*"
			if f.has(name) {
				value = f.filled(name)
			}
			parts = append(parts, value)
		}
		parts = append(parts, f.required("password"))
		for i, p := range parts {
			if strings.ContainsAny(p, "\x00\r\n") {
				f.fail("a value contains a line break or a NUL character")
			}
			parts[i] = escapePgpass.Replace(p)
		}
		line := strings.Join(parts, ":")
		if !isTrimmed(line) {
			f.fail("host begins, or password ends, with white space, which readers remove")
		}
		if strings.HasPrefix(line, "#") {
			f.fail("host begins with #, which starts a comment")
		}
		if f.err != nil {
			return "", f.err
		}
		b.WriteString(line + "\n")
	}
	return b.String(), nil
}

// Libpq writes a connection string of libpq, the C library of PostgreSQL, which most drivers for PostgreSQL read. The
// keys are libpq's own keywords, such as host, port, dbname, user, password and sslmode. All values are quoted.
func Libpq(m map[string]any) (string, error) {
	out, err := entries(m, func(key, value string) (string, error) {
		if key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "" {
			return "", errors.New("a key is not a keyword of libpq: use lower-case letters and _")
		}
		if strings.ContainsRune(value, 0) {
			return "", errNUL
		}
		return key + "='" + escapeLibpq.Replace(value) + "'", nil
	})
	return strings.Join(out, " "), err
}
