package format

import (
	"slices"
	"strings"
)

// JDBC writes a JDBC URL. The fields are driver (postgresql, mysql, mariadb or sqlserver), host, port, database,
// username, password and parameters. Each driver has its own quotes.
func JDBC(m map[string]any) (string, error) {
	f := newFields(m, "driver", host, port, database, username, password, parameters)
	f.needUser()
	switch f.required("driver") {
	case "postgresql":
		return f.jdbc("postgresql", escape)
	case "mysql":
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
	all := f.named("user", username, password, password)
	all = append(all, f.parameters("user", password)...)
	return f.finish(address + query(all, quote))
}

// asMariaDB returns a value unchanged, because MariaDB Connector/J does not decode it.
func (f *fields) asMariaDB(s string) string {
	if strings.Contains(s, "&") || strings.Contains(s, "address=(") || hasControl(s) {
		f.fail("a value contains &, address=( or a control character, for which the driver has no escape")
	}
	return s
}

// jdbcSQLServer returns a URL whose properties are in braces, as the driver reads them since version 8.4.
func (f *fields) jdbcSQLServer() (string, error) {
	address := "jdbc:sqlserver://" + f.address()
	if strings.Contains(f.text(host), ":") {
		f.fail("host is an IPv6 address, for which the driver has no escape: write the name of the host")
	}
	all := f.named("databaseName", database, "user", username, password, password)
	all = append(all, f.parameters(
		"user", "username", password, "database", "databasename", "server", "servername", "port", "portnumber")...)
	for _, p := range all {
		address += ";" + p.key + "={" + strings.ReplaceAll(p.value, "}", "}}") + "}"
	}
	return f.finish(address)
}

// named returns the present ones of some fields as parameters. The arguments are pairs of a parameter and a field.
func (f *fields) named(pairs ...string) (out []parameter) {
	for pair := range slices.Chunk(pairs, 2) {
		value := f.text(pair[1])
		if pair[1] != password {
			value = f.filled(pair[1])
		}
		if f.has(pair[1]) {
			out = append(out, parameter{pair[0], value})
		}
	}
	return out
}
