package diff

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kubectl is a program that logs its arguments, permits all but what is named, and prints a dump for each get.
const kubectl = `#!/bin/sh
echo "$@" >> "$LOG"
case "$1 $2" in
"config current-context") echo kind-prod ;;
"auth can-i") case "$3 $4" in $REFUSED) echo no; exit 1;; *) echo yes;; esac ;;
"get -f") cat >> "$LOG"; cat "$FULL" ;;
"get "*) if [ -n "$BROKEN" ]; then echo 'error: context "kind-prod" does not exist' >&2; exit 1; fi; cat "$DUMP" ;;
esac
`

// TestCluster: kubectl gets only what is needed, with the user's flags, after its rights are checked.
func TestCluster(t *testing.T) {
	dump := cluster(t, composed(input), instance("team-a", "orders"))
	withoutDB := secretsOf(t, dump, func(name, secret string) string {
		if name == "orders-db" {
			return ""
		}
		return secret
	})
	const flags = " -o json --show-managed-fields --ignore-not-found --context=kind-prod"
	for name, c := range map[string]struct {
		dump, refused, broken string
		context               string
		want                  []string // of the output
		calls                 []string
	}{
		"Reads": {
			dump: withoutDB, context: "kind-prod",
			want: []string{"State: context kind-prod of kubectl", "Secret orders-conn"},
			calls: []string{
				"auth can-i list secrets --all-namespaces --context=kind-prod",
				"auth can-i get secrets --all-namespaces --context=kind-prod",
				"auth can-i list compositeresourcedefinitions.apiextensions.crossplane.io --all-namespaces --context=kind-prod",
				"auth can-i get compositions.apiextensions.crossplane.io --all-namespaces --context=kind-prod",
				"auth can-i list compositionrevisions.apiextensions.crossplane.io --all-namespaces --context=kind-prod",
				"auth can-i list postgresql.v1.example.org --all-namespaces --context=kind-prod",
				"get compositeresourcedefinitions.apiextensions.crossplane.io" + flags,
				"get compositions.apiextensions.crossplane.io postgresql" + flags,
				"get compositionrevisions.apiextensions.crossplane.io -l crossplane.io/composition-name in (postgresql)" + flags,
				"get postgresql.v1.example.org --all-namespaces" + flags,
				"auth can-i list instance.v1.db.example.org --all-namespaces --context=kind-prod",
				"auth can-i list secret --all-namespaces --context=kind-prod",
				"get instance.v1.db.example.org --all-namespaces -l crossplane.io/composite" + flags,
				"get secret --all-namespaces -l crossplane.io/composite" + flags,
				"get -f -" + flags,
				`{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"orders-db","namespace":"team-a"}}],"kind":"List"}`,
			},
		},
		"CurrentContext": {dump: dump, want: []string{"State: context kind-prod of kubectl"},
			calls: []string{"config current-context"}},
		"LacksRights": {
			dump: dump, refused: "*example.org|*revisions*",
			want: []string{"error: context kind-prod: kubectl lacks these rights: list " +
				"compositionrevisions.apiextensions.crossplane.io " +
				"--all-namespaces; list postgresql.v1.example.org --all-namespaces"},
		},
		"LacksSecrets": {
			dump: withoutDB, refused: "*secrets",
			want: []string{"Note: kubectl lacks the right to read Secrets", "user cannot be known without Secret " +
				"team-a/orders-db"},
		},
		"Broken": {dump: dump, broken: "yes",
			want: []string{`error: context kind-prod: kubectl: error: context "kind-prod" does not exist`}},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			log := filepath.Join(bin, "log")
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			for key, value := range map[string]string{"LOG": log, "REFUSED": c.refused, "BROKEN": c.broken,
				"DUMP": filepath.Join(bin, "dump"), "FULL": filepath.Join(bin, "full")} {
				t.Setenv(key, value)
			}
			script := strings.ReplaceAll(kubectl, "$REFUSED)", c.refused+")")
			if c.refused == "" {
				script = strings.ReplaceAll(kubectl, "$REFUSED)", "none)")
			}
			for file, content := range map[string]string{"kubectl": script, "dump": c.dump, "full": dump} {
				if err := os.WriteFile(filepath.Join(bin, file), []byte(content), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			out, _ := run(t, Command{Output: "text", Place: Place{Cluster: true, Context: c.context}},
				composed(with(t, "secret.username}]", "secret.password}]")), c.dump)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("want %q, got:\n%s", want, out)
				}
			}
			calls, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Split(strings.TrimSpace(string(calls)), "\n")
			if n := min(len(c.calls), len(got)); n > 0 {
				if diff := cmp.Diff(c.calls, got[:n]); diff != "" {
					t.Errorf("calls: -want, +got:\n%s", diff)
				}
			}
			for _, call := range got {
				if verb := strings.Fields(call)[0]; verb != "get" && verb != "auth" && verb != "config" && !strings.HasPrefix(verb,
					"{") {
					t.Errorf("kubectl %s is no verb that only reads", verb)
				}
			}
		})
	}
	t.Run("NoKubectl", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		out, code := run(t, Command{Output: "text", Place: Place{Cluster: true}}, composed(input), dump)
		if code != 2 || !strings.Contains(out, "executable file not found in $PATH: install it, or pass the output of "+
			"kubectl get -o yaml with --from") {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
}
