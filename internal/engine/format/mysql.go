package format

import "strings"

// MySQL writes a data source name of github.com/go-sql-driver/mysql. The fields are host, port, database, username,
// password and parameters. A user name cannot contain a colon, because the driver has no escape for it.
func MySQL(m map[string]any) (string, error) {
	f := newFields(m, host, port, database, username, password, parameters)
	f.needUser()
	login := ""
	if f.has(username) {
		login = f.filled(username)
		if strings.Contains(login, ":") {
			f.fail("username contains a colon, after which the driver expects the password")
		}
		if f.has(password) {
			login += ":" + f.text(password) // the driver searches for the last @ and the last /
		}
		login += "@"
	}
	dsn := login + "tcp(" + f.address() + ")/" + escape(f.filled(database))
	return f.finish(dsn + f.query(escapeDSN))
}

// escapeDSN escapes a parameter. The driver does not decode all of them, so that a list of character sets must keep
// its commas.
func escapeDSN(s string) string { return unescapedDSN.Replace(escape(s)) }

var unescapedDSN = strings.NewReplacer("%2C", ",", "%3A", ":")
