package formats

import (
	"math"
	"strings"
	"testing"

	composedotenv "github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/jackc/pgpassfile"
	"github.com/joho/godotenv"
	"github.com/magiconair/properties"
	"github.com/pelletier/go-toml/v2"
	"gopkg.in/ini.v1"

	"github.com/crossplane-contrib/function-export/internal/engine/format"
)

func FuzzPropertiesRoundTrip(f *testing.F) {
	seed(f)
	loader := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	f.Fuzz(func(t *testing.T, a, b string) {
		m := entries(a, b)
		if a != "" {
			m[a] = b
		}
		w := write(format.Properties(m))
		if w.refused(t, false, a, b) {
			return
		}
		if strings.ContainsFunc(w.text, func(r rune) bool { return r > '~' }) {
			t.Fatalf("want ASCII, got %q", w.text)
		}
		p, err := loader.LoadBytes([]byte(w.text))
		if err != nil {
			t.Fatalf("%q: %v", w.text, err)
		}
		want := map[string]string{}
		for k, v := range textsOf(m) {
			want[halves(k)] = halves(v)
		}
		w.same(t, "magiconair/properties", want, p.Map(), err)
	})
}

// halves is a text as magiconair/properties reads it: unlike Java, it does not join the two halves of a character that
// UTF-16 represents with two numbers.
func halves(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0xffff {
			b.WriteString("\ufffd")
			r = '\ufffd'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func FuzzDotenvRoundTrips(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		m := entries(a, b)
		w := write(format.Dotenv(m))
		if w.refused(t, strings.ContainsAny(a+b, "\x00\r\\") || strings.Contains(a+"m"+b+a, "${") ||
			strings.Contains(a+b, "'"), a, b) {
			return
		}
		got, err := composedotenv.UnmarshalWithLookup(w.text, nil)
		w.same(t, "compose-go", textsOf(m), got, err)
		got, err = godotenv.Unmarshal(w.text)
		w.same(t, "godotenv", textsOf(m), got, err)
	})
}

func FuzzINIRoundTrips(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		sections := map[string]any{
			"default": entries(a, b), "profile " + b: map[string]any{"x": a}, "empty": map[string]any{},
		}
		w := write(format.INI(sections))
		if w.refused(t, true, a, b) {
			return
		}
		file, err := ini.Load([]byte(w.text))
		if err != nil {
			t.Fatalf("%q: %v", w.text, err)
		}
		got := map[string]map[string]string{}
		for _, s := range file.Sections() {
			if s.Name() == ini.DefaultSection && len(s.Keys()) == 0 {
				continue
			}
			got[s.Name()] = map[string]string{}
			for _, k := range s.Keys() {
				got[s.Name()][k.Name()] = k.String()
			}
		}
		want := map[string]map[string]string{}
		for name, m := range sections {
			want[name] = textsOf(m.(map[string]any))
		}
		w.same(t, "ini.v1", want, got, err)
	})
}

func FuzzTOMLRoundTrips(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		n := int64(len(a)) - int64(len(b)) + math.MaxInt64 - 100000
		m := map[string]any{
			a: b, b + "list": []any{a, b, n, true, 1.5}, "tables": []any{map[string]any{a: b}, map[string]any{}},
			"min":    int64(math.MinInt64),
			"nested": map[string]any{b: map[string]any{a: []any{[]any{a}, []any{}, map[string]any{a: n}}}}, "whole": 2.0,
			"large": 1e21, "small": -5e-324,
			"mixed": []any{int64(1), "x", map[string]any{"k": a}},
		}
		w := write(format.TOML(m, 1<<20))
		if w.refused(t, false, a, b) {
			return
		}
		got := map[string]any{}
		err := toml.Unmarshal([]byte(w.text), &got)
		w.same(t, "go-toml", m, got, err)
	})
}

func FuzzPgpassRoundTrips(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		all := []any{
			map[string]any{
				"host": "db.example.org", "port": int64(5432), "database": "x" + a, "username": "x" + b,
				"password": "x" + a + b + "x",
			},
			map[string]any{"password": a}, map[string]any{"password": "last"},
		}
		w := write(format.Pgpass(all))
		if w.refused(t, strings.ContainsAny(a+b, "\x00\r\n") || strings.TrimSpace(a) != a || a == "", a, b) {
			return
		}
		file, err := pgpassfile.ParsePassfile(strings.NewReader(w.text))
		want := []*pgpassfile.Entry{
			{
				Hostname: "db.example.org", Port: "5432", Database: "x" + a, Username: "x" + b,
				Password: "x" + a + b + "x",
			},
			{Hostname: "*", Port: "*", Database: "*", Username: "*", Password: a},
			{Hostname: "*", Port: "*", Database: "*", Username: "*", Password: "last"},
		}
		if err != nil {
			t.Fatal(err)
		}
		w.same(t, "pgpassfile", want, file.Entries, err)
	})
}
