package formats

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"github.com/crossplane-contrib/function-export/internal/engine/format"
)

// A login is what all connection strings contain.
type login struct{ Host, Database, Username, Password, Parameter string }

func fieldsOf(a, b string) map[string]any {
	return map[string]any{
		"host": "db-1.example.org", "port": "7000", "database": "x" + a, "username": "x" + b, "password": a + b,
	}
}

func wantOf(a, b string) login {
	return login{Host: "db-1.example.org:7000", Database: "x" + a, Username: "x" + b, Password: a + b}
}

func with(m, more map[string]any) map[string]any {
	m = maps.Clone(m)
	maps.Copy(m, more)
	return m
}

func FuzzLibpqRoundTrips(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		w := write(format.Libpq(map[string]any{
			"host": "db.example.org", "port": int64(7000), "dbname": "x" + a, "user": "x" + b, "password": a + b,
			"sslmode": "disable", "application_name": b,
		}))
		if w.refused(t, strings.ContainsRune(a+b, 0), a, b) {
			return
		}
		cfg, err := pgconn.ParseConfig(w.text)
		if err != nil {
			t.Fatalf("%q: %v", w.text, err)
		}
		want := login{"db.example.org", "x" + a, "x" + b, a + b, b}
		w.same(
			t, "pgconn", want,
			login{cfg.Host, cfg.Database, cfg.User, cfg.Password, cfg.RuntimeParams["application_name"]}, err,
		)
	})
}

func FuzzMySQLRoundTrips(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		w := write(
			format.MySQL(
				with(
					fieldsOf(a, b),
					map[string]any{
						"parameters": map[string]any{"sql_mode": b, "charset": "utf8mb4,utf8", "loc": "UTC"},
					},
				),
			),
		)
		if w.refused(t, strings.Contains(b, ":"), a, b) {
			return
		}
		cfg, err := mysql.ParseDSN(w.text)
		if err != nil {
			t.Fatalf("%q: %v", w.text, err)
		}
		want := wantOf(a, b)
		want.Parameter = b
		w.same(t, "go-sql-driver", want, login{cfg.Addr, cfg.DBName, cfg.User, cfg.Passwd, cfg.Params["sql_mode"]}, err)
	})
}

func FuzzAMQPRoundTrips(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		m := fieldsOf(a, b)
		delete(m, "database")
		w := write(
			format.AMQP(
				with(m, map[string]any{"vhost": "/" + a, "tls": true, "parameters": map[string]any{"certfile": b}}),
			),
		)
		if w.refused(t, false, a, b) {
			return
		}
		u, err := amqp.ParseURI(w.text)
		if err != nil {
			t.Fatalf("%q: %v", w.text, err)
		}
		want := wantOf(a, b)
		want.Host, want.Database, want.Parameter = "db-1.example.org", "/"+a, b
		w.same(t, "amqp091", want, login{u.Host, u.Vhost, u.Username, u.Password, u.CertFile}, err)
		if u.Scheme != "amqps" || u.Port != 7000 {
			t.Fatalf("%q: %s and %d", w.text, u.Scheme, u.Port)
		}
	})
}

func FuzzRedisRoundTrips(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		for name, m := range map[string]map[string]any{"login": fieldsOf(a, b), "default user": with(fieldsOf(a, b),
			map[string]any{"username": nil})} {
			want := wantOf(a, b)
			want.Database = ""
			if name != "login" {
				want.Username = ""
				delete(m, "username")
			}
			w := write(
				format.Redis(
					with(
						m,
						map[string]any{
							"database": int64(3), "tls": true, "parameters": map[string]any{"client_name": b},
						},
					),
				),
			)
			if w.refused(t, false, a, b) {
				return
			}
			o, err := redis.ParseURL(w.text)
			if err != nil {
				t.Fatalf("%q: %v", w.text, err)
			}
			want.Parameter = b
			w.same(t, "go-redis", want, login{o.Addr, "", o.Username, o.Password, o.ClientName}, err)
			if o.DB != 3 || o.TLSConfig == nil {
				t.Fatalf("%q: %d and %v", w.text, o.DB, o.TLSConfig)
			}
		}
	})
}

func FuzzMongoDBRoundTrips(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		m := fieldsOf(a, b)
		delete(m, "port")
		delete(m, "host")
		w := write(format.MongoDB(with(m, map[string]any{
			"hosts": []any{"a.example.org:27017", "::1", "[::1]:27018"}, "parameters": map[string]any{
				"appName": "x" + b, "authSource": "x" + a,
			},
		})))
		if w.refused(t, strings.ContainsAny(a, "/\\. \"$*<>:|?\x00"), a, b) {
			return
		}
		c, err := connstring.Parse(w.text)
		if err != nil {
			t.Fatalf("%q: %v", w.text, err)
		}
		want := wantOf(a, b)
		want.Host, want.Parameter = "a.example.org:27017,[::1],[::1]:27018", "x"+b
		w.same(
			t, "mongo-driver", want, login{strings.Join(c.Hosts, ","), c.Database, c.Username, c.Password, c.AppName},
			err,
		)
		if c.AuthSource != "x"+a {
			t.Fatalf("%q: authSource %q", w.text, c.AuthSource)
		}
	})
}

// Addresses of hosts survive in all of them.
func TestHosts(t *testing.T) {
	for host, want := range map[string]string{"db": "db:7000", "10.0.0.1": "10.0.0.1:7000",
		"2001:db8::1": "[2001:db8::1]:7000", "my_db.svc": "my_db.svc:7000"} {
		m := map[string]any{"host": host, "port": int64(7000)}
		w := write(format.MySQL(m))
		cfg, err := mysql.ParseDSN(w.text)
		if err != nil {
			t.Fatal(w, err)
		}
		w.same(t, "go-sql-driver", want, cfg.Addr, err)
		w = write(format.Redis(m))
		o, err := redis.ParseURL(w.text)
		if err != nil {
			t.Fatal(w, err)
		}
		w.same(t, "go-redis", want, o.Addr, err)
		w = write(format.MongoDB(m))
		c, err := connstring.Parse(w.text)
		if err != nil {
			t.Fatal(w, err)
		}
		w.same(t, "mongo-driver", []string{want}, slices.Clone(c.Hosts), err)
	}
}
