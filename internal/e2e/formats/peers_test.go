//go:build peers

// Tests that read what is written with a shell, Python and Java. Not every machine has them, so these tests have a
// build tag instead of passing without them:
//
//	go -C internal/e2e/formats test -tags peers ./...
package formats

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/format"
)

// A document has two hostile values.
type document struct {
	kind, text string
	want       any
}

// documents are those of the hostile values that a function does not refuse.
func documents(t *testing.T, kind string, write func(a, b string) (string, any, error)) []document {
	t.Helper()
	all := hostile()
	out := make([]document, 0, len(all))
	for i, a := range all {
		text, want, err := write(a, all[(i*7+3)%len(all)])
		if err == nil {
			out = append(out, document{kind, text, want})
		}
	}
	if len(out) < len(all)/20 {
		t.Fatalf("want documents of kind %s, got %d of %d", kind, len(out), len(all))
	}
	t.Logf("%s: %d of %d", kind, len(out), len(all))
	return out
}

func run(t *testing.T, input string, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot run %s: %v: install the packages that .ci/run installs, or leave the tag peers out", name, err)
	}
	return out
}

func compare(t *testing.T, docs []document, got []any) {
	t.Helper()
	if len(got) != len(docs) {
		t.Fatalf("want %d answers, got %d", len(docs), len(got))
	}
	for i, d := range docs {
		want, err := json.Marshal(d.want)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(want, &plain); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain, got[i]); diff != "" {
			t.Errorf("%s %q, -want +got:\n%s", d.kind, d.text, diff)
		}
	}
}

func dotenv(a, b string) (string, any, error) {
	m := map[string]any{"A": a, "B_2": b, "C": "plain"}
	text, err := format.Dotenv(m)
	return text, m, err
}

func TestByPython(t *testing.T) {
	docs := documents(t, "dotenv", dotenv)
	docs = append(docs, documents(t, "ini", func(a, b string) (string, any, error) {
		m := map[string]any{"default": map[string]any{"a": a, "B": b}, "profile x": map[string]any{"a": b}}
		text, err := format.INI(m)
		return text, m, err
	})...)
	docs = append(docs, documents(t, "toml", func(a, b string) (string, any, error) {
		m := map[string]any{a: b, "list": []any{a, b}, "tables": []any{map[string]any{b: a}}}
		text, err := format.TOML(m, 1<<20)
		return text, m, err
	})...)
	docs = append(docs, documents(t, "libpq", func(a, b string) (string, any, error) {
		m := map[string]any{"host": "db", "password": a, "user": b}
		text, err := format.Libpq(m)
		return text, m, err
	})...)
	input := make([][]string, len(docs))
	for i, d := range docs {
		input[i] = []string{d.kind, d.text}
	}
	texts, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	if err := json.Unmarshal(run(t, string(texts), "/usr/bin/python3", "testdata/readers.py"), &got); err != nil {
		t.Fatal(err)
	}
	compare(t, docs, got)
}

// A shell reads all documents in one process. It prints each value with a NUL after it.
func TestByShell(t *testing.T) {
	docs, dir := documents(t, "dotenv", dotenv), t.TempDir()
	for i, d := range docs {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(d.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := fmt.Sprintf(`cd '%s'; set -a; i=0
while [ $i -lt %d ]; do . ./$i; printf '%%s\0%%s\0%%s\0' "$A" "$B_2" "$C"; i=$((i+1)); done`, dir, len(docs))
	for _, shell := range []string{"dash", "bash"} {
		values := strings.Split(string(run(t, script, shell)), "\x00")
		if len(values) != 3*len(docs)+1 {
			t.Fatalf("want %d values, got %d", 3*len(docs), len(values)-1)
		}
		got := make([]any, len(docs))
		for i := range docs {
			got[i] = map[string]any{"A": values[3*i], "B_2": values[3*i+1], "C": values[3*i+2]}
		}
		compare(t, docs, got)
	}
}

func TestByJava(t *testing.T) {
	docs := documents(t, "properties", func(a, b string) (string, any, error) {
		m := map[string]any{"A" + b: a, "B": b, a: b}
		text, err := format.Properties(m)
		return text, m, err
	})
	jdbc := func(driver string, want func(a, b string) any) func(a, b string) (string, any, error) {
		return func(a, b string) (string, any, error) {
			m := with(
				fieldsOf(a, b), map[string]any{"driver": driver, "parameters": map[string]any{"ApplicationName": b}},
			)
			text, err := format.JDBC(m)
			return text, want(a, b), err
		}
	}
	docs = append(docs, documents(t, "postgresql", jdbc("postgresql", func(a, b string) any {
		return map[string]any{
			"PGHOST": "db-1.example.org", "PGPORT": "7000", "PGDBNAME": "x" + a, "user": "x" + b, "password": a + b,
			"ApplicationName": b,
		}
	}))...)
	docs = append(docs, documents(t, "mariadb", jdbc("mariadb", func(a, b string) any {
		return map[string]any{"host": "db-1.example.org:7000", "database": "x" + a, "user": "x" + b, "password": a + b}
	}))...)
	var input strings.Builder
	for _, d := range docs {
		fmt.Fprintf(&input, "%s %s\n", d.kind, base64.StdEncoding.EncodeToString([]byte(d.text)))
	}
	out := run(
		t, input.String(), "java", "-cp", "/usr/share/java/postgresql.jar:/usr/share/java/mariadb-java-client.jar",
		"testdata/Readers.java",
	)
	var got []any
	for line := range strings.Lines(string(out)) {
		m := map[string]any{}
		for _, entry := range strings.Fields(line) {
			k, v, _ := strings.Cut(entry, "=")
			key, errKey := base64.RawStdEncoding.DecodeString(k)
			value, errValue := base64.RawStdEncoding.DecodeString(v)
			if errKey != nil || errValue != nil {
				t.Fatalf("cannot decode %q", entry)
			}
			m[string(key)] = string(value)
		}
		got = append(got, m)
	}
	compare(t, docs, got)
}
