package format

import "strings"

// JDBC writes a JDBC URL. The fields are driver (postgresql, mysql, mariadb or sqlserver), host, port, database,
// username, password and parameters. Each driver has its own quotes.
func JDBC(m map[string]any) (string, error) {
	f := newFields(m, "driver", host, port, database, username, password, parameters)
	f.needUser()
	switch f.required("driver") {
	case "postgresql":
		return f.jdbc("postgresql", escape)
	case "mysql":
		name := f.text(database)
		if strings.TrimFunc(name, func(r rune) bool { return r <= ' ' }) != name {
			f.fail("database begins or ends with white space or a control character, which the driver removes")
		}
		return f.jdbc("mysql", escape)
	case "mariadb":
		return f.jdbc("mariadb", f.asMariaDB)
	case "sqlserver":
		return f.jdbcSQLServer()
	}
	f.fail("driver is not postgresql, mysql, mariadb or sqlserver")
	return f.finish("")
}

// jdbc returns a URL whose user name and password are parameters.
func (f *fields) jdbc(driver string, quote func(string) string) (string, error) {
	address := "jdbc:" + driver + "://" + f.address() + "/"
	if name := f.filled(database); driver == "mariadb" && strings.ContainsAny(name, "/?") {
		f.fail("database contains / or ?, for which the driver has no escape")
	} else {
		address += quote(name)
	}
	var all []parameter
	if f.has(username) {
		all = append(all, parameter{"user", f.filled(username)})
	}
	if f.has(password) {
		all = append(all, parameter{password, f.text(password)})
	}
	all = append(all, f.parameters("user", password)...)
	return f.finish(address + query(all, quote))
}

// asMariaDB returns a value unchanged, because MariaDB Connector/J does not decode it.
func (f *fields) asMariaDB(s string) string {
	switch {
	case strings.Contains(s, "&"):
		f.fail("a value contains &, for which the driver has no escape")
	case hasControl(s):
		f.fail("a value contains a line break or another control character, for which the driver has no escape")
	case strings.Contains(s, "address=("):
		f.fail("a value contains address=(, which the driver takes for a host")
	}
	return s
}

// jdbcSQLServer returns a URL whose properties are in braces, as the driver reads them since version 8.4.
func (f *fields) jdbcSQLServer() (string, error) {
	address := "jdbc:sqlserver://" + f.address()
	if strings.Contains(f.text(host), ":") {
		f.fail("host is an IPv6 address, for which the driver has no escape: write the name of the host")
	}
	var all []parameter
	for _, p := range []struct{ field, name string }{
		{database, "databaseName"}, {username, "user"}, {password, password},
	} {
		if f.has(p.field) {
			all = append(all, parameter{p.name, f.text(p.field)})
		}
	}
	f.filled(database)
	f.filled(username)
	all = append(all, f.parameters(
		"user", "username", password, "database", "databasename", "server", "servername", "port", "portnumber")...)
	for _, p := range all {
		address += ";" + p.key + "={" + strings.ReplaceAll(p.value, "}", "}}") + "}"
	}
	return f.finish(address)
}
