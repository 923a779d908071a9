package format_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/format"
)

type object = map[string]any

// functions are the functions that accept a map.
var functions = map[string]func(object) (string, error){
	"properties": format.Properties, "dotenv": format.Dotenv, "ini": format.INI, "libpq": format.Libpq, "jdbc": format.JDBC,
	"mysql": format.MySQL, "amqp": format.AMQP, "mongodb": format.MongoDB, "redis": format.Redis,
	"toml":   func(m object) (string, error) { return format.TOML(m, 1000) },
	"pgpass": func(m object) (string, error) { return format.Pgpass([]any{m}) },
}

// The exact texts. The tests in readers show what parsers read.
func TestTexts(t *testing.T) {
	login := func(more object) object {
		m := object{"host": "db", "port": int64(7000), "username": "ann:/@?", "password": "p'a\"s\\s }&%+ w", "parameters": object{"b": true, "a": "x y"}}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	for name, c := range map[string]struct {
		reason, function string
		m                object
		want             string
	}{
		"Empty":        {"an empty map has no lines", "dotenv", object{}, ""},
		"Scalars":      {"numbers are exact, as in JSON", "properties", object{"i": int64(math.MinInt64), "u": uint64(math.MaxUint64), "f": 1e21, "g": 0.1, "h": 2.0, "b": false, "s": []byte("é")}, "b=false\nf=1e+21\ng=0.1\nh=2\ni=-9223372036854775808\ns=\\u00E9\nu=18446744073709551615\n"},
		"Property":     {"keys and values have other escapes", "properties", object{"a b=:#!\\": " a b=:#!\\ \n\r\t\x00🔑"}, "a\\ b\\=\\:\\#\\!\\\\=\\ a b=:#!\\\\ \\n\\r\\t\\u0000\\uD83D\\uDD11\n"},
		"Plain":        {"a value that needs no quotes has none", "dotenv", object{"A": "a-B_1./:@%+,"}, "A=a-B_1./:@%+,\n"},
		"Single":       {"single quotes are preferred", "dotenv", object{"A": "", "B": "$x`\"\\a#\n"}, "A=''\nB='$x`\"\\a#\n'\n"},
		"Double":       {"if there is a single quote", "dotenv", object{"A": `it's "so" \x`}, `A="it's \"so\" \\x"` + "\n"},
		"Sections":     {"", "ini", object{"b": object{}, "a x": object{"k": "v = 1", "E": ""}}, "[a x]\nE = \nk = v = 1\n\n[b]\n"},
		"TOML":         {"", "toml", object{"b": object{"c": []any{int64(1), "x\ny"}}, "a": []byte("t")}, "a = \"t\"\n\n[b]\nc = [1, \"x\\ny\"]\n"},
		"Pgpass":       {"absent fields are *", "pgpass", object{"host": "::1", "password": `a\b:c`}, `\:\:1:*:*:*:a\\b\:c` + "\n"},
		"Libpq":        {"", "libpq", object{"password": `it's \`, "port": int64(5432)}, `password='it\'s \\' port='5432'`},
		"PostgreSQL":   {"", "jdbc", login(object{"driver": "postgresql", "database": "a/b"}), "jdbc:postgresql://db:7000/a%2Fb?user=ann%3A%2F%40%3F&password=p%27a%22s%5Cs%20%7D%26%25%2B%20w&a=x%20y&b=true"},
		"JDBC MySQL":   {"", "jdbc", login(object{"driver": "mysql", "host": "::1"}), "jdbc:mysql://[::1]:7000/?user=ann%3A%2F%40%3F&password=p%27a%22s%5Cs%20%7D%26%25%2B%20w&a=x%20y&b=true"},
		"MariaDB":      {"nothing is decoded", "jdbc", login(object{"driver": "mariadb", "password": "a%+ =?/", "database": "d"}), "jdbc:mariadb://db:7000/d?user=ann:/@?&password=a%+ =?/&a=x y&b=true"},
		"SQL Server":   {"", "jdbc", login(object{"driver": "sqlserver", "database": "d"}), "jdbc:sqlserver://db:7000;databaseName={d};user={ann:/@?};password={p'a\"s\\s }}&%+ w};a={x y};b={true}"},
		"MySQL":        {"", "mysql", login(object{"username": "a@b", "database": "d/e", "parameters": object{"charset": "utf8mb4,utf8", "loc": "Europe/Berlin"}}), "a@b:p'a\"s\\s }&%+ w@tcp(db:7000)/d%2Fe?charset=utf8mb4,utf8&loc=Europe%2FBerlin"},
		"MySQL alone":  {"", "mysql", object{"host": "2001:db8::1"}, "tcp([2001:db8::1])/"},
		"AMQP":         {"", "amqp", login(object{"vhost": "/", "tls": true}), "amqps://ann%3A%2F%40%3F:p%27a%22s%5Cs%20%7D%26%25%2B%20w@db:7000/%2F?a=x%20y&b=true"},
		"AMQP alone":   {"", "amqp", object{"host": "mq", "tls": false}, "amqp://mq"},
		"Redis":        {"a password alone is that of the default user", "redis", object{"host": "c", "password": "p@", "database": int64(0), "tls": true}, "rediss://:p%40@c/0"},
		"MongoDB":      {"", "mongodb", object{"hosts": []any{"a", "b:27017", "::1", "[::1]:1"}, "username": "u"}, "mongodb://u@a,b:27017,[::1],[::1]:1/"},
		"MongoDB SRV":  {"", "mongodb", object{"host": "c.example.org", "srv": true, "database": "d"}, "mongodb+srv://c.example.org/d"},
		"Port is text": {"connection details are text", "redis", object{"host": "c", "port": "6379"}, "redis://c:6379"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := functions[c.function](c.m)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v, -want +got:\n%s", c.reason, err, diff)
			}
		})
	}
}

// Each rule has its error, which names no value.
func TestRefusals(t *testing.T) {
	const canary = "canary"
	host := func(more object) object {
		more["host"] = "db"
		return more
	}
	for name, c := range map[string]struct {
		function string
		m        object
		want     string
	}{
		"List":                  {"dotenv", object{"A": []any{}}, "a value is not a string, bytes, a bool or a number"},
		"Null":                  {"properties", object{"A": nil}, "a value is not a string, bytes, a bool or a number"},
		"Bytes":                 {"properties", object{"A": []byte(canary + "\xff")}, "a text is not UTF-8"},
		"Text":                  {"libpq", object{"a": canary + "\xff"}, "a text is not UTF-8"},
		"NaN":                   {"properties", object{"a": math.NaN()}, "a number is infinite or not a number"},
		"PropertyKey":           {"properties", object{"": "a"}, "a key is empty"},
		"DotenvKey":             {"dotenv", object{canary + "-": "a"}, "a key is not the name of a variable"},
		"DotenvDigit":           {"dotenv", object{"1": "a"}, "a key is not the name of a variable"},
		"DotenvNUL":             {"dotenv", object{"A": canary + "\x00"}, "a value contains a NUL character, a carriage return or ${"},
		"DotenvBackslash":       {"dotenv", object{"A": canary + `\`}, "a value contains a NUL character, a carriage return or ${, or ends with a backslash"},
		"DotenvDollar":          {"dotenv", object{"A": canary + "'$"}, "a value contains a single quote or two backslashes, together with $, a backtick"},
		"DotenvQuote":           {"dotenv", object{"A": canary + `'"`}, "a value contains a single quote or two backslashes, together with"},
		"INISection":            {"ini", object{"a": canary}, "a section is not a map"},
		"INISectionName":        {"ini", object{canary + "]": object{}}, "the name of a section is empty"},
		"INIKeyName":            {"ini", object{"a": object{canary + "=": int64(1)}}, "a key does not only have letters"},
		"INICase":               {"ini", object{"a": object{"k": true, "K": true}}, "two keys of a section differ only in case"},
		"INIControl":            {"ini", object{"a": object{"k": canary + "\u2028"}}, "a value has a line break or another control character"},
		"TOMLNull":              {"toml", object{"a": []any{nil}}, "a value is not a string"},
		"TOMLUint":              {"toml", object{"a": uint64(math.MaxUint64)}, "a whole number is over 2^63"},
		"TOMLSize":              {"toml", object{"a": strings.Repeat(canary, 200)}, "the result is too large"},
		"PgpassKey":             {"pgpass", object{"user": canary}, "a key is unknown: the keys are host, port, database, username, password"},
		"PgpassPassword":        {"pgpass", object{"host": canary}, "password is missing"},
		"PgpassEmpty":           {"pgpass", object{"password": ""}, "password is empty"},
		"PgpassLine":            {"pgpass", object{"password": canary + "\n"}, "a value contains a line break or a NUL character"},
		"PgpassSpace":           {"pgpass", object{"password": canary + " "}, "host begins, or password ends, with white space"},
		"PgpassComment":         {"pgpass", object{"host": "#" + canary, "password": "a"}, "host begins with #"},
		"LibpqKey":              {"libpq", object{"Host" + canary: "a"}, "a key is not a keyword of libpq"},
		"LibpqNUL":              {"libpq", object{"host": canary + "\x00"}, "a value contains a NUL character"},
		"UnknownKey":            {"jdbc", object{canary: "a"}, "a key is unknown: the keys are driver, host, port, database, username, password, parameters"},
		"NoDriver":              {"jdbc", host(object{}), "driver is missing"},
		"Driver":                {"jdbc", host(object{"driver": canary}), "driver is not postgresql, mysql, mariadb or sqlserver"},
		"NoHost":                {"redis", object{}, "host is missing"},
		"EmptyHost":             {"redis", object{"host": ""}, "host is empty"},
		"Host":                  {"redis", object{"host": canary + "@b"}, "host is not the name or the address of a host"},
		"HostWithPort":          {"amqp", object{"host": canary + ":1"}, "host is not the name or the address of a host"},
		"Port":                  {"amqp", host(object{"port": canary}), "port is not a number from 1 to 65535"},
		"PortRange":             {"amqp", host(object{"port": int64(65536)}), "port is not a number from 1 to 65535"},
		"TLS":                   {"amqp", host(object{"tls": "true"}), "tls is not true or false"},
		"Vhost":                 {"amqp", host(object{"vhost": ""}), "vhost is empty"},
		"Username":              {"amqp", host(object{"username": ""}), "username is empty"},
		"UsernameList":          {"amqp", host(object{"username": []any{canary}}), "username: a value is not a string"},
		"PasswordAlone":         {"amqp", host(object{"password": canary}), "password needs username"},
		"PasswordAloneJDBC":     {"jdbc", host(object{"driver": "mysql", "password": canary}), "password needs username"},
		"Parameters":            {"amqp", host(object{"parameters": canary}), "parameters is not a map"},
		"ParameterName":         {"amqp", host(object{"parameters": object{canary + "&": "a"}}), "the name of a parameter does not only have letters"},
		"ParameterValue":        {"amqp", host(object{"parameters": object{"a": []any{canary}}}), "parameters: a value is not a string"},
		"ParameterTwice":        {"jdbc", host(object{"driver": "mysql", "parameters": object{"User": canary}}), "a parameter is written twice"},
		"ParameterTwiceServer":  {"jdbc", host(object{"driver": "sqlserver", "parameters": object{"databaseName": canary}}), "a parameter is written twice"},
		"MySQLUser":             {"mysql", host(object{"username": canary + ":"}), "username contains a colon"},
		"MariaDBDatabase":       {"jdbc", host(object{"driver": "mariadb", "database": canary + "?"}), "database contains / or ?"},
		"MariaDBPassword":       {"jdbc", host(object{"driver": "mariadb", "username": "a", "password": canary + "&"}), "a value contains &"},
		"SQLServerIPv6":         {"jdbc", object{"driver": "sqlserver", "host": "::1"}, "host is an IPv6 address"},
		"RedisDatabase":         {"redis", host(object{"database": canary}), "database is not a number"},
		"MongoDBHosts":          {"mongodb", host(object{"hosts": []any{canary}}), "write either host and port, or hosts"},
		"MongoDBHost":           {"mongodb", object{"hosts": []any{canary + ","}}, "hosts is not a list of names or addresses"},
		"MongoDBSRV":            {"mongodb", host(object{"srv": true, "port": int64(1)}), "with srv, write host without port or hosts"},
		"SeveralErrorsAreFirst": {"redis", object{"host": "", "port": "x"}, "host is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := functions[c.function](c.m)
			if err == nil || got != "" || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), canary) {
				t.Errorf("want %q, got %q, %v", c.want, got, err)
			}
		})
	}
}
