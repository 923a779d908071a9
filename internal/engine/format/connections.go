package format

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Fields of connection strings. All of them have the same names in all functions.
const (
	host, port, database, username, password = "host", "port", "database", "username", "password"
	tls, parameters                          = "tls", "parameters"
)

// AMQP writes an AMQP URL, for example for RabbitMQ. The fields are host, port, vhost, username, password, tls and
// parameters.
func AMQP(m map[string]any) (string, error) {
	f := newFields(m, host, port, "vhost", username, password, tls, parameters)
	address := f.scheme("amqp", "amqps") + "://" + f.login() + f.address()
	if f.has("vhost") {
		address += "/" + Escape(f.filled("vhost"))
	}
	return f.finish(address + f.query(Escape))
}

// Redis writes a Redis URL. The fields are host, port, database (a number), username, password, tls and parameters.
func Redis(m map[string]any) (string, error) {
	f := newFields(m, host, port, database, username, password, tls, parameters)
	address := f.scheme("redis", "rediss") + "://"
	if f.has(password) && !f.has(username) { // the default user
		address += ":" + Escape(f.text(password)) + "@"
	} else {
		address += f.login()
	}
	address += f.address()
	if f.has(database) {
		n := f.filled(database)
		if strings.Trim(n, "0123456789") != "" {
			f.fail("database is not a number")
		}
		address += "/" + n
	}
	return f.finish(address + f.query(Escape))
}

// MongoDB writes a MongoDB URL. The fields are either host and port or hosts (a list), and srv, database, username,
// password and parameters.
func MongoDB(m map[string]any) (string, error) {
	f := newFields(m, host, port, "hosts", "srv", database, username, password, parameters)
	scheme := "mongodb://"
	if f.bool("srv") {
		scheme = "mongodb+srv://"
		if f.has(port) || f.has("hosts") {
			f.fail("with srv, write host without port or hosts")
		}
	}
	address := scheme + f.login() + f.hosts() + "/" + Escape(f.filled(database))
	return f.finish(address + f.query(Escape))
}

// hosts returns the field hosts, or host and port.
func (f *fields) hosts() string {
	if !f.has("hosts") {
		return f.address()
	}
	if f.has(host) || f.has(port) {
		f.fail("write either host and port, or hosts")
	}
	list, ok := f.entries["hosts"].([]any)
	out := make([]string, len(list))
	for i, v := range list {
		name, number := fmt.Sprint(v), ""
		if h, p, err := net.SplitHostPort(name); err == nil {
			name, number = h, p
		}
		ok = ok && isHost(name) && (number == "" || isPort(number))
		out[i] = join(name, number)
	}
	if !ok || len(list) == 0 {
		f.fail("hosts is not a list of names or addresses, with or without a port")
	}
	return strings.Join(out, ",")
}

// scheme returns the scheme without or with TLS.
func (f *fields) scheme(plain, secure string) string {
	if f.bool(tls) {
		return secure
	}
	return plain
}

// login returns the user name and the password in front of a host.
func (f *fields) login() string {
	if !f.has(username) {
		f.needUser()
		return ""
	}
	login := Escape(f.filled(username))
	if f.has(password) {
		login += ":" + Escape(f.text(password))
	}
	return login + "@"
}

// needUser refuses a password without a user name.
func (f *fields) needUser() {
	if f.has(password) && !f.has(username) {
		f.fail("password needs username")
	}
}

// address returns the host, and the port if there is one.
func (f *fields) address() string {
	h := f.required(host)
	if !isHost(h) {
		f.fail("host is not the name or the address of a host: write it without scheme and port")
	}
	return join(h, f.port(port))
}

// isHost reports whether a text is the name of a host, or an IP address.
func isHost(s string) bool {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Zone() == ""
	}
	return isName(s)
}

func join(host, port string) string {
	switch {
	case port != "":
		return net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		return "[" + host + "]"
	}
	return host
}

// query returns the field parameters as the query of a URL.
func (f *fields) query(escape func(string) string) string { return query(f.parameters(), escape) }

func query(parameters []parameter, escape func(string) string) string {
	if len(parameters) == 0 {
		return ""
	}
	out := make([]string, len(parameters))
	for i, p := range parameters {
		out[i] = p.key + "=" + escape(p.value)
	}
	return "?" + strings.Join(out, "&")
}

// finish returns a text if all fields were valid.
func (f *fields) finish(s string) (string, error) {
	if f.err != nil {
		return "", f.err
	}
	return s, nil
}

// Escape escapes everything except letters, digits and -_.~ with percent signs. Therefore, the result means the same
// in each part of a URL.
func Escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

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
	dsn := login + "tcp(" + f.address() + ")/" + Escape(f.filled(database))
	return f.finish(dsn + f.query(escapeDSN))
}

// escapeDSN escapes a parameter. The driver does not decode all of them, so that a list of character sets must keep
// its commas.
func escapeDSN(s string) string { return unescapedDSN.Replace(Escape(s)) }

var unescapedDSN = strings.NewReplacer("%2C", ",", "%3A", ":")

// JDBC writes a JDBC URL. The fields are driver (postgresql, mysql, mariadb or sqlserver), host, port, database,
// username, password and parameters. Each driver has its own quotes.
func JDBC(m map[string]any) (string, error) {
	f := newFields(m, "driver", host, port, database, username, password, parameters)
	f.needUser()
	switch f.required("driver") {
	case "postgresql":
		return f.jdbc("postgresql", Escape)
	case "mysql":
		return f.jdbc("mysql", Escape)
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
