package diff

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// secretsOf returns a dump with a change of each of its Secrets. An empty text removes it.
func secretsOf(t *testing.T, dump string, change func(name, secret string) string) string {
	t.Helper()
	parts := regexp.MustCompile(`(?m)^- `).Split(dump, -1)
	out := parts[0]
	for _, p := range parts[1:] {
		if strings.Contains(p, "\n  kind: Secret\n") {
			name := regexp.MustCompile(`\n    name: (\S+)\n`).FindStringSubmatch(p)[1]
			if p = change(name, p); p == "" {
				continue
			}
		}
		out += "- " + p
	}
	if !strings.HasSuffix(out, "kind: List\nmetadata:\n  resourceVersion: \"\"\n") {
		out += "kind: List\nmetadata:\n  resourceVersion: \"\"\n"
	}
	return out
}

// TestUnknown: without Secrets, or with masked ones, each effect that does not depend on an unknown value is decided.
func TestUnknown(t *testing.T) {
	dump := cluster(t, composed(input), instance("team-a", "orders"))
	value := regexp.MustCompile(`(?m)^    (DATABASE_URL|host|user|username|password): .+$`)
	const unknown = "cannot be known without Secret team-a/orders-db"
	for mask, change := range map[string]func(name, secret string) string{
		"LeftOut":  func(string, string) string { return "" },
		"Redacted": func(_, secret string) string { return value.ReplaceAllString(secret, "    $1: UkVEQUNURUQ=") },
		"Stars":    func(_, secret string) string { return value.ReplaceAllString(secret, "    $1: '***'") },
		"WithoutConnection": func(name, secret string) string {
			if name == "orders-db" {
				return ""
			}
			return secret
		},
	} {
		for name, c := range map[string]struct{ changes, want []string }{
			"Nothing": {nil, nil},
			"Length": {[]string{"length: 24", "length: 32"}, []string{
				"! generator admin rotates now: length 24 → 32 (refreshPolicy OnChange); generation 1 is kept until " +
					"2026-01-04T00:00:03Z",
				"? Secret orders-url DATABASE_URL " + unknown,
			}},
			"Key": {[]string{"{key: host,", "{key: PGHOST,"}, []string{"~ Secret orders-url host is removed, PGHOST is " +
				"added"}},
			"Value":    {[]string{"'postgres://'", "'postgresql://'"}, []string{"? Secret orders-url DATABASE_URL " + unknown}},
			"OtherKey": {[]string{"secret.username}]", "secret.password}]"}, []string{"? Secret orders-conn user " + unknown}},
			"Literal": {[]string{"resource.status.endpoint}\n", "\"'x' + resource.status.endpoint\"}\n"},
				[]string{"~ Secret orders-url host changes (18 → 19 bytes)"}},
			"Rename": {[]string{"name: conn", "name: connection"}, []string{
				`- Secret orders-conn is deleted: its export was renamed to "connection": set metadata.name to orders-conn to ` +
					`keep the object`,
				"+ Secret orders-connection is created: it replaces Secret team-a/orders-conn, which is deleted",
			}},
			"Fails": {[]string{"secret.username}]", "json.decode(secret.username).x}]"}, []string{
				"? Secret orders-conn " + unknown,
			}},
			"New": {
				[]string{"secrets:", "secrets:\n- name: new\n  from: db\n  data: [{key: k, value: secret.password}]"},
				[]string{"+ Secret orders-new is created"},
			},
		} {
			t.Run(mask+"/"+name, func(t *testing.T) {
				out, _ := run(t, Command{Output: "text"}, composed(with(t, c.changes...)), secretsOf(t, dump, change))
				if diff := cmp.Diff(c.want, linesAbout(out)); diff != "" {
					t.Errorf("-want, +got:\n%s", diff)
				}
			})
		}
	}
	t.Run("Age", func(t *testing.T) {
		changed := composed(with(t, "OnChange", "Periodic\n  refreshInterval: 720h"))
		for mask, c := range map[string]struct {
			change func(name, secret string) string
			want   string
		}{
			"LeftOut": {func(string, string) string { return "" }, "? generator admin when it rotates cannot be known without " +
				"Secret team-a/orders-admin-1"},
			"Masked": {
				func(_, secret string) string { return value.ReplaceAllString(secret, "    $1: '***'") },
				"! generator admin rotates at 2026-01-31T00:00:00Z: refreshInterval none → 720h, refreshPolicy OnChange → " +
					"Periodic (refreshPolicy Periodic)",
			},
		} {
			out, _ := run(t, Command{Output: "text"}, changed, secretsOf(t, dump, c.change))
			if diff := cmp.Diff([]string{c.want}, linesAbout(out)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", mask, diff)
			}
		}
	})
}
