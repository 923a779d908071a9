package test_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/test"
)

// TestMistakes plants mistakes in the Compositions of examples. Each one turns the named test red, with a message that
// names the mistake, and without a secret value.
func TestMistakes(t *testing.T) {
	const rotates = "rotates with overlap"
	url := []string{"'postgresql://admin:%s@%s:5432/orders'.format([\n            " +
		"url.queryEscape(generated.admin.password), composite.spec.host])"}
	for name, tc := range map[string]struct {
		folder, test string
		replace      []string
		want         string // a regular expression
	}{
		"MissingOverlap": {"rotation", rotates, []string{"gracePeriod: 24h", "gracePeriod: 0s"},
			`law overlap is broken.*generation 1 of admin is deleted`},
		"ShortOverlap": {"rotation", rotates, []string{"gracePeriod: 24h", "gracePeriod: 1h"}, `deleted 1h0m\ds after`},
		"LongGrace": {"rotation", rotates, []string{"gracePeriod: 24h", "gracePeriod: 48h"},
			`gone\[0\]: generated/admin/1 exists`},
		"WrongInterval": {"rotation", rotates, []string{"refreshInterval: 720h", "refreshInterval: 360h"},
			`kept\[0\]: the data of connection has changed`},
		"NeverRotates": {"rotation", rotates, []string{"refreshPolicy: Periodic\n        refreshInterval: 720h",
			"refreshPolicy: CreatedOnce"}, `changed\[0\]: the data of connection has not changed`},
		"SwappedInURL": {"rotation", rotates,
			append(url, "'postgresql://%s:admin@%s:5432/orders'.format([url.queryEscape(generated.admin.password), "+
				"composite.spec.host])"), `objects\.connection\.data\.url: does not match its pattern`},
		"LostFormer": {"rotation", rotates, []string{"- key: former\n          value: previous.?admin.?password",
			"- {key: other, value: \"'x'\"}"}, `assert\[0\]`},
		"FormerIsCurrent": {"rotation", rotates, []string{"value: previous.?admin.?password",
			"value: generated.admin.password"}, `assert\[0\]: is not true\n.*former == previousMoment`},
		"NotInput": {"rotation", rotates, []string{"generators:", "generator:"}, `unknown field`},
		"Misspelt": {"rotation", rotates, []string{"generated.admin.password\n        # This",
			"generated.admin.pasword\n        # This"}, `pasword`},
		"HalfRotated": {"rotation-alternating-users", "the next user is exported", []string{"- key: username\n          " +
			"value: generated.user.username", "- key: username\n          value: " +
			"previous.?user.?username.orValue(generated.user.username)"},
			`objects\.connection\.data\.username: differs`},
		"SwappedUser": {"rotation-alternating-users", "the next user is exported",
			[]string{"value: generated.user.username\n        - key: password\n          value: generated.user.password",
				"value: generated.user.password\n        - key: password\n          value: generated.user.username"},
			`objects\.connection\.data\.username: differs\n\s+- \[8 bytes, label \w+\]\n\s+\+ \[10 bytes, label`},
		"WrongWindow": {"rotation-single-user", "rotates in a window", []string{`schedule: "0 2 * * 6"`,
			`schedule: "0 2 * * 5"`}, `kept\[\d\]: the data of \w+ has changed`},
		"NoWindow": {"rotation-single-user", "rotates in a window", []string{"rotationWindow:", "#"},
			`gone\[0\]: generated/admin/2 exists|has changed`},
		"SetterGenerated": {"rotation-single-user", "rotates in a window", []string{"value: candidate.admin.password",
			"value: generated.admin.password"}, `objects\.master: no object`},
		"ConsumerCandidate": {"rotation-single-user", "rotates in a window", []string{"value: generated.admin.password",
			"value: candidate.admin.password"},
			`connection has changed`},
		"NotVerified": {"rotation-single-user", "rotates in a window", []string{
			"readyExpression: secrets.db.password == candidate.admin.password", "#", "abandonAfter: 15m", "#",
		}, `condition\.reason: differs|refusedAtMost`},
		"NeverGivenUp": {"rotation-single-user", "a password that the database refuses", []string{"abandonAfter: 15m", "#"},
			`condition\.reason: differs\n\s+- "Held"`},
		"KeyVanishes": {"access-keys", "the Secret exists when both", []string{
			"value: secrets['accesskey-0'].username", "value: secrets[?'accesskey-0'].?username",
			"value: secrets['accesskey-0'].password", "value: secrets[?'accesskey-0'].?password",
		}, `law noLostValue is broken.*loses the key user-0`},
		"SameKeyTwice": {"access-keys", "the Secret exists when both", []string{"value: secrets['accesskey-1'].username",
			"value: secrets['accesskey-0'].username"}, `message: does not match|user-1: differs`},
		"WrongName": {"access-keys", "the Secret exists when both", []string{"- name: connection-secret",
			"- name: connection"}, `has the composition resource name "connection-secret": there are .*connection`},
		"StatusMissing": {"push-secret", "the name of the Secret", []string{"value: resources.connection.metadata.name",
			"value: resources.?connection.?metadata.?names"}, `composite\.status`},
		"WrongOutput": {"generator-resource", "a key is replaced", []string{"value: generated.key.created",
			"value: generated.key.username"}, `data\.CREATED: differs`},
		"NotActive": {"generator-resource", "a key is replaced", []string{"resource.status.atProvider.status == 'Active'",
			"true"}, `kept\[0\]: the data of credentials has changed`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copied(t, tc.folder, "composition.yaml", tc.replace...)
			stdout, stderr, code := run(t.Context(), t, &test.Command{Paths: []string{filepath.Join(dir, "test.yaml")},
				Only: tc.test})
			if code != 1 || !regexp.MustCompile(tc.want).MatchString(stdout) {
				t.Errorf("want exit code 1 and %s, got %d:\n%s%s", tc.want, code, stdout, stderr)
			}
			if strings.Contains(stdout, "not-real-") {
				t.Errorf("the output has a value of a Secret:\n%s", stdout)
			}
		})
	}
}

// TestExploreMistakes plants mistakes that only a history of failures shows. The shortest history has at most five
// moments, and is a test that fails.
func TestExploreMistakes(t *testing.T) {
	for name, tc := range map[string]struct {
		folder, test string
		composition  []string
		want         string
	}{
		"ShortOverlap": {"rotation", "rotates with overlap", []string{"gracePeriod: 24h", "gracePeriod: 2h"}, "overlap"},
		"NoOverlap": {"rotation-alternating-users", "the next user is exported", []string{"gracePeriod: 24h",
			"gracePeriod: 1h"}, "overlap"},
		"KeyVanishes": {"access-keys", "the Secret exists when both", []string{"value: secrets['accesskey-0'].password",
			"value: secrets[?'accesskey-0'].?password\n          optional: true"}, "noLostValue"},
		"MapVanishes": {"access-keys", "the Secret exists when both", []string{
			"- key: user-1\n          value: secrets['accesskey-1'].username\n        - key: password-1\n          value: " +
				"secrets['accesskey-1'].password",
			"- valueMap: secrets[?'accesskey-1'].orValue({})",
		}, "noLostValue"},
		"NotVerified": {"rotation-single-user", "rotates in a window", []string{
			"readyExpression: secrets.db.password == candidate.admin.password", "#", "abandonAfter: 15m", "#",
		}, "refusedAtMost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copied(t, tc.folder, "composition.yaml", tc.composition...)
			c := &test.Command{Paths: []string{filepath.Join(dir, "test.yaml")}, Only: tc.test, Explore: 50}
			stdout, stderr, code := run(t.Context(), t, c)
			if code != 1 || !strings.Contains(stderr, "the law "+tc.want+" is broken") {
				t.Fatalf("want a history that breaks %s, got %d:\n%s%s", tc.want, code, stdout, stderr)
			}
			again, _, _ := run(t.Context(), t, c)
			if again != stdout {
				t.Errorf("the same seed has another result:\n%s\n%s", stdout, again)
			}
			file := filepath.Join(dir, "found.yaml")
			if err := os.WriteFile(file, []byte(stdout), 0o600); err != nil {
				t.Fatal(err)
			}
			out, _, code := run(t.Context(), t, &test.Command{Paths: []string{file}})
			if code != 1 || !strings.Contains(out, "the law "+tc.want+" is broken") {
				t.Errorf("the printed history does not fail as a test: %s", out)
			}
			if moments := regexp.MustCompile(`\((\d) moments?,`).FindStringSubmatch(out); moments == nil || moments[1] > "5" {
				t.Errorf("want at most five moments: %s", out)
			}
		})
	}
}

// TestExploreExamples plays histories of failures with examples that are correct.
func TestExploreExamples(t *testing.T) {
	for folder, only := range map[string]string{
		"rotation":                   "rotates when it is asked for|the value of a deleted generation",
		"rotation-alternating-users": "the next user is exported",
		"rotation-single-user":       "rotates in a window",
		"generator-resource":         "a key is replaced",
	} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			c := &test.Command{Paths: []string{filepath.Join(examples, folder, "test.yaml")}, Only: only, Explore: 6}
			if stdout, stderr, code := run(t.Context(), t, c); code != 0 {
				t.Errorf("want no history that breaks a law, got %d:\n%s%s", code, stderr, stdout)
			}
		})
	}
}
