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
	"properties": format.Properties, "dotenv": format.Dotenv, "ini": format.INI, "libpq": format.Libpq,
	"jdbc":  format.JDBC,
	"mysql": format.MySQL, "amqp": format.AMQP, "mongodb": format.MongoDB, "redis": format.Redis,
	"toml":   func(m object) (string, error) { return format.TOML(m, 1000) },
	"pgpass": func(m object) (string, error) { return format.Pgpass([]any{m}) },
}

// The exact texts. The tests in readers show what parsers read.
func TestTexts(t *testing.T) {
	login := func(more object) object {
		m := object{
			"host": "db", "port": int64(7000), "username": "ann:/@?", "password": "p'a\"s\\s }&%+ w",
			"parameters": object{"b": true, "a": "x y"},
		}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	for _, c := range []struct {
		function string
		m        object
		want     string
	}{
		{"dotenv", object{}, ""},
		{
			"properties",
			object{
				"i": int64(math.MinInt64), "u": uint64(math.MaxUint64), "f": 1e21, "g": 0.1, "h": 2.0, "b": false,
				"s": []byte("é"),
			},
			"b=false\nf=1e+21\ng=0.1\nh=2\ni=-9223372036854775808\ns=\\u00E9\nu=18446744073709551615\n",
		},
		{
			"properties", object{"a b=:#!\\": " a b=:#!\\ \n\r\t\x00🔑"},
			"a\\ b\\=\\:\\#\\!\\\\=\\ a b=:#!\\\\ \\n\\r\\t\\u0000\\uD83D\\uDD11\n",
		},
		{"dotenv", object{"A": "a-B_1./:@%+,"}, "A=a-B_1./:@%+,\n"},
		{"dotenv", object{"A": "", "B": "$x`\"\\a#\n"}, "A=''\nB='$x`\"\\a#\n'\n"},
		{"dotenv", object{"A": `it's "so" \x`}, `A="it's \"so\" \\x"` + "\n"},
		{"ini", object{"b": object{}, "a x": object{"k": "v = 1", "E": ""}}, "[a x]\nE = \nk = v = 1\n\n[b]\n"},
		{
			"toml", object{"b": object{"c": []any{int64(1), "x\ny"}}, "a": []byte("t")},
			"a = \"t\"\n\n[b]\nc = [1, \"x\\ny\"]\n",
		},
		{"pgpass", object{"host": "::1", "password": `a\b:c`}, `\:\:1:*:*:*:a\\b\:c` + "\n"},
		{"libpq", object{"password": `it's \`, "port": int64(5432)}, `password='it\'s \\' port='5432'`},
		{
			"jdbc", login(object{"driver": "postgresql", "database": "a/b"}),
			"jdbc:postgresql://db:7000/a%2Fb?user=ann%3A%2F%40%3F&password=p%27a%22s%5Cs%20%7D%26%25%2B%20w&a=x%20y&b=true",
		},
		{
			"jdbc", login(object{"driver": "mysql", "host": "::1"}),
			"jdbc:mysql://[::1]:7000/?user=ann%3A%2F%40%3F&password=p%27a%22s%5Cs%20%7D%26%25%2B%20w&a=x%20y&b=true",
		},
		{
			"jdbc", login(object{"driver": "mariadb", "password": "a%+ =?/", "database": "d"}),
			"jdbc:mariadb://db:7000/d?user=ann:/@?&password=a%+ =?/&a=x y&b=true",
		},
		{
			"jdbc", login(object{"driver": "sqlserver", "database": "d"}),
			"jdbc:sqlserver://db:7000;databaseName={d};user={ann:/@?};password={p'a\"s\\s }}&%+ w};a={x y};b={true}",
		},
		{
			"mysql",
			login(
				object{
					"username": "a@b", "database": "d/e",
					"parameters": object{"charset": "utf8mb4,utf8", "loc": "Europe/Berlin"},
				},
			),
			"a@b:p'a\"s\\s }&%+ w@tcp(db:7000)/d%2Fe?charset=utf8mb4,utf8&loc=Europe%2FBerlin",
		},
		{"mysql", object{"host": "2001:db8::1"}, "tcp([2001:db8::1])/"},
		{
			"amqp", login(object{"vhost": "/", "tls": true}),
			"amqps://ann%3A%2F%40%3F:p%27a%22s%5Cs%20%7D%26%25%2B%20w@db:7000/%2F?a=x%20y&b=true",
		},
		{"amqp", object{"host": "mq", "tls": false}, "amqp://mq"},
		{"redis", object{"host": "c", "password": "p@", "database": int64(0), "tls": true}, "rediss://:p%40@c/0"},
		{
			"mongodb", object{"hosts": []any{"a", "b:27017", "::1", "[::1]:1"}, "username": "u"},
			"mongodb://u@a,b:27017,[::1],[::1]:1/",
		},
		{"mongodb", object{"host": "c.example.org", "srv": true, "database": "d"}, "mongodb+srv://c.example.org/d"},
		{"redis", object{"host": "c", "port": "6379"}, "redis://c:6379"},
	} {
		t.Run(c.function+" "+c.want, func(t *testing.T) {
			got, err := functions[c.function](c.m)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
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
	for _, c := range []struct {
		function string
		m        object
		want     string
	}{
		{"dotenv", object{"A": []any{}}, "a value is not a string, bytes, a bool or a number"},
		{"properties", object{"A": nil}, "a value is not a string, bytes, a bool or a number"},
		{"properties", object{"A": []byte(canary + "\xff")}, "a text is not UTF-8"},
		{"libpq", object{"a": canary + "\xff"}, "a text is not UTF-8"},
		{"properties", object{"a": math.NaN()}, "a number is infinite or not a number"},
		{"properties", object{"": "a"}, "a key is empty"},
		{"dotenv", object{canary + "-": "a"}, "a key is not the name of a variable"},
		{"dotenv", object{"1": "a"}, "a key is not the name of a variable"},
		{"dotenv", object{"A": canary + "\x00"}, "a value contains a NUL character, a carriage return or ${"},
		{
			"dotenv", object{"A": canary + `\`},
			"a value contains a NUL character, a carriage return or ${, or ends with a backslash",
		},
		{
			"dotenv", object{"A": canary + "'$"},
			"a value contains a single quote or two backslashes, together with $, a backtick",
		},
		{"dotenv", object{"A": canary + `'"`}, "a value contains a single quote or two backslashes, together with"},
		{"ini", object{"a": canary}, "a section is not a map"},
		{"ini", object{canary + "]": object{}}, "the name of a section is empty"},
		{"ini", object{"a": object{canary + "=": int64(1)}}, "a key does not only have letters"},
		{"ini", object{"a": object{"k": true, "K": true}}, "two keys of a section differ only in case"},
		{"ini", object{"a": object{"k": canary + "\u2028"}}, "a value has a line break or another control character"},
		{"toml", object{"a": []any{nil}}, "a value is not a string"},
		{"toml", object{"a": uint64(math.MaxUint64)}, "a whole number is over 2^63"},
		{"toml", object{"a": strings.Repeat(canary, 200)}, "the result is too large"},
		{"pgpass", object{"user": canary}, "a key is unknown: the keys are host, port, database, username, password"},
		{"pgpass", object{"host": canary}, "password is missing"},
		{"pgpass", object{"password": ""}, "password is empty"},
		{"pgpass", object{"password": canary + "\n"}, "a value contains a line break or a NUL character"},
		{"pgpass", object{"password": canary + " "}, "host begins, or password ends, with white space"},
		{"pgpass", object{"host": "#" + canary, "password": "a"}, "host begins with #"},
		{"libpq", object{"Host" + canary: "a"}, "a key is not a keyword of libpq"},
		{"libpq", object{"host": canary + "\x00"}, "a value contains a NUL character"},
		{
			"jdbc", object{canary: "a"},
			"a key is unknown: the keys are driver, host, port, database, username, password, parameters",
		},
		{"jdbc", host(object{}), "driver is missing"},
		{"jdbc", host(object{"driver": canary}), "driver is not postgresql, mysql, mariadb or sqlserver"},
		{"redis", object{}, "host is missing"},
		{"redis", object{"host": ""}, "host is empty"},
		{"redis", object{"host": canary + "@b"}, "host is not the name or the address of a host"},
		{"amqp", object{"host": canary + ":1"}, "host is not the name or the address of a host"},
		{"amqp", host(object{"port": canary}), "port is not a number from 1 to 65535"},
		{"amqp", host(object{"port": int64(65536)}), "port is not a number from 1 to 65535"},
		{"amqp", host(object{"tls": "true"}), "tls is not true or false"},
		{"amqp", host(object{"vhost": ""}), "vhost is empty"},
		{"amqp", host(object{"username": ""}), "username is empty"},
		{"amqp", host(object{"username": []any{canary}}), "username: a value is not a string"},
		{"amqp", host(object{"password": canary}), "password needs username"},
		{"jdbc", host(object{"driver": "mysql", "password": canary}), "password needs username"},
		{"amqp", host(object{"parameters": canary}), "parameters is not a map"},
		{
			"amqp", host(object{"parameters": object{canary + "&": "a"}}),
			"the name of a parameter does not only have letters",
		},
		{"amqp", host(object{"parameters": object{"a": []any{canary}}}), "parameters: a value is not a string"},
		{"jdbc", host(object{"driver": "mysql", "parameters": object{"User": canary}}), "a parameter is written twice"},
		{
			"jdbc", host(object{"driver": "sqlserver", "parameters": object{"databaseName": canary}}),
			"a parameter is written twice",
		},
		{"mysql", host(object{"username": canary + ":"}), "username contains a colon"},
		{"jdbc", host(object{"driver": "mariadb", "database": canary + "?"}), "database contains / or ?"},
		{"jdbc", host(object{"driver": "mariadb", "username": "a", "password": canary + "&"}), "a value contains &"},
		{"jdbc", object{"driver": "sqlserver", "host": "::1"}, "host is an IPv6 address"},
		{"redis", host(object{"database": canary}), "database is not a number"},
		{"mongodb", host(object{"hosts": []any{canary}}), "write either host and port, or hosts"},
		{"mongodb", object{"hosts": []any{canary + ","}}, "hosts is not a list of names or addresses"},
		{"mongodb", host(object{"srv": true, "port": int64(1)}), "with srv, write host without port or hosts"},
		{"redis", object{"host": "", "port": "x"}, "host is empty"},
	} {
		t.Run(c.function+" "+c.want, func(t *testing.T) {
			got, err := functions[c.function](c.m)
			if err == nil || got != "" || !strings.HasPrefix(err.Error(), c.want) ||
				strings.Contains(err.Error(), canary) {
				t.Errorf("want %q, got %q, %v", c.want, got, err)
			}
		})
	}
}
