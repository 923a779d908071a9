package format

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
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
		address += "/" + escape(f.filled("vhost"))
	}
	return f.finish(address + f.query(escape))
}

// Redis writes a Redis URL. The fields are host, port, database (a number), username, password, tls and parameters.
func Redis(m map[string]any) (string, error) {
	f := newFields(m, host, port, database, username, password, tls, parameters)
	address := f.scheme("redis", "rediss") + "://"
	if f.has(password) && !f.has(username) { // the default user
		address += ":" + escape(f.text(password)) + "@"
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
	return f.finish(address + f.query(escape))
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
	address := scheme + f.login() + f.hosts() + "/" + escape(f.filled(database))
	return f.finish(address + f.query(escape))
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
	login := escape(f.filled(username))
	if f.has(password) {
		login += ":" + escape(f.text(password))
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

// escape escapes everything except letters, digits and -_.~ with percent signs. Therefore, the result means the same
// in each part of a URL.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
