package live_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

const exportsLogin = `
secrets:
- name: connection
  from: db
  data:
  - {key: user, value: secret.username}
  - {key: pass, value: secret.password}
`

// describes are composites, each in another state. Their `kubectl describe` must contain these texts. In the
// texts, NS is the namespace.
var describes = map[string]struct {
	reason string
	play   func(ctx context.Context, s scenario) error
	says   []string
	shows  string // a text that the command in the condition prints; empty if there is no command
}{
	"available": {
		"Available",
		func(ctx context.Context, s scenario) error {
			return first(s.composes(ctx, exportsLogin), s.provides(ctx, login()))
		},
		nil, "",
	},
	"no-details": {
		"Waiting",
		func(ctx context.Context, s scenario) error { return first(s.composes(ctx, exportsLogin)) },
		[]string{
			`Secret "connection" (NS/app-connection) is not created: `,
			`key "user" waits for secrets.db.username (Database app-db exists, and its connection Secret does not exist yet); `,
			`key "pass" waits for secrets.db.password; `,
		},
		"Write Connection Secret To Ref:",
	},
	"misspelled-key": {
		"Waiting",
		func(ctx context.Context, s scenario) error {
			return first(s.composes(ctx, exportsLogin), s.provides(ctx, map[string]string{"username": hush(), "pasword": hush()}))
		},
		[]string{`Secret "connection" (NS/app-connection) is not created: key "pass" waits for secrets.db.password (Database app-db is ready: did you mean pasword?)`},
		"Type:                  Ready",
	},
	"misspelled-from": {
		"Waiting",
		func(ctx context.Context, s scenario) error {
			return first(s.composes(ctx, strings.ReplaceAll(exportsLogin, "from: db", "from: app-dbs")))
		},
		[]string{`Secret "connection" (NS/app-connection) is not created: key "user" and key "pass" wait for resources['app-dbs'] (no earlier step composes it: use db, or compose it in an earlier step)`},
		"from: app-dbs",
	},
	"misspelled-field": {
		"Waiting",
		func(ctx context.Context, s scenario) error {
			return first(s.composes(ctx, exportsLogin+"  - {key: host, value: composite.status.hots}"), s.provides(ctx, login()))
		},
		[]string{
			`Secret "connection" (NS/app-connection) is not created: key "host" waits for composite.status`,
			"secrets[0].data[2].value:1:17: App of live.example.org/v1 has no field status.hots: did you mean host?",
		},
		"composite.status.hots",
	},
	"source": {
		"Waiting",
		func(ctx context.Context, s scenario) error { return first(s.composes(ctx, connectionOfLogin)) },
		[]string{`Secret "connection" (NS/app-connection) is not created: secrets[0].data[0].valueMap and key "url" wait for secrets.login (Secret NS/login does not exist)`},
		"",
	},
	"held": {
		"Held",
		func(ctx context.Context, s scenario) error {
			return first(
				s.composes(ctx, exportsLogin),
				s.provides(ctx, login()),
				func() error { return s.says(ctx, s.app(), "Available") },
				s.provides(ctx, map[string]string{"username": hush()}),
			)
		},
		[]string{`Secret "connection" (NS/app-connection) is kept unchanged: key "pass" waits for secrets.db.password (Database app-db is ready, and has only the key username: select another key)`},
		"Type:                  Ready",
	},
	"failed": {
		"Held",
		func(ctx context.Context, s scenario) error {
			return first(
				s.composes(ctx, exportsLogin+`  - {key: port, value: "'port ' + string(int(resource.status.host))"}`),
				s.provides(ctx, login()),
			)
		},
		[]string{`Secret "connection" (NS/app-connection) is not created: secrets[0].data[2].value`},
		"string(int(resource.status.host))",
	},
	"conflict": {
		"Conflict",
		func(ctx context.Context, s scenario) error {
			return first(
				s.composes(ctx, exportsLogin),
				func() error {
					return s.write(ctx, "Secret", "app-connection", map[string]string{"theirs": hush()})
				},
				s.provides(ctx, login()),
			)
		},
		[]string{`Secret "connection": Secret NS/app-connection exists and has no controller: delete it, or set secrets[0].metadata.name to another name`},
		"theirs:",
	},
	"invalid": {
		"InvalidInput",
		func(ctx context.Context, s scenario) error {
			return first(s.composes(ctx, strings.ReplaceAll(exportsLogin, "secret.username", "secrt.username")))
		},
		[]string{"invalid input: secrets[0].data[0].value:1:1: there is no variable secrt: did you mean secret?"},
		"secrt.username",
	},
}

// composes creates the composite, and its Composition with a Database.
func (s scenario) composes(ctx context.Context, input string) func() error {
	return func() error {
		return first(
			func() error { return s.open(ctx, "App", input, database) },
			func() error { return s.applyApp(ctx) },
		)
	}
}

// provides writes the connection details of the Database, which is ready then.
func (s scenario) provides(ctx context.Context, details map[string]string) func() error {
	return func() error {
		return s.provide(ctx, "app-db", "app-db-details", details, readyStatus(`"host": "db",`))
	}
}

// message matches the message and the reason of ExportsReady in the output of kubectl describe.
var message = regexp.MustCompile(`(?m)^ *Message: +(.*)\n(?: *Observed Generation: .*\n)? *Reason: +(.*)\n *Status: .*\n *Type: +ExportsReady$`)

// TestDescribe checks that kubectl describe says why a Secret does not exist or is not updated: the object, the key and
// the missing input. If it also names a command, the command works.
func TestDescribe(t *testing.T) {
	if err := stage(); err != nil {
		t.Fatalf("%v\n%s", err, events(""))
	}

	programs, err := e2e.BuildControlPlane(t.Context(), func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}

	for name, d := range describes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, k := scenario{ControlPlane: plane, function: functionName, ns: "describe-" + name}, kubectl{programs.Kubectl, t.TempDir()}
			if err := d.play(t.Context(), s); err != nil {
				t.Fatalf("%v\n%s", err, events(s.ns))
			}

			err := eventually(t.Context(), soon, d.reason, func() error {
				return s.describes(t.Context(), k, d.reason, d.says, d.shows)
			})
			if err != nil {
				t.Errorf("%v\n%s", err, events(s.ns))
			}
		})
	}
}

// describes returns an error if the output of kubectl describe lacks a text, or if its command does not print one.
func (s scenario) describes(ctx context.Context, k kubectl, reason string, says []string, shows string) error {
	out, err := k.output(ctx, "kubectl describe app.live.example.org app --namespace "+s.ns, 0)
	if err != nil {
		return err
	}

	if reason == "Available" {
		if o, err := s.Get(ctx, s.app()); err != nil || live.ConditionOf(o, "ExportsReady").Message != "" {
			return fmt.Errorf("%w: there is a message:\n%s", err, out)
		}

		return s.says(ctx, s.app(), reason)
	}

	found := message.FindStringSubmatch(out)
	if found == nil || found[2] != reason {
		return fmt.Errorf("the reason is not %s:\n%s", reason, out)
	}

	for _, text := range says {
		if text := strings.ReplaceAll(text, "NS", s.ns); !strings.Contains(found[1], text) {
			return fmt.Errorf("the message has no %q:\n%s", text, out)
		}
	}

	_, command, ok := strings.Cut(found[1], "; see: ")
	switch {
	case !ok && shows == "":
		return nil
	case !ok || shows == "":
		return fmt.Errorf("want a command only if it shows %q:\n%s", shows, out)
	}

	printed, err := k.output(ctx, command, 0)
	if err == nil && !strings.Contains(printed, shows) {
		err = fmt.Errorf("%s prints no %q:\n%s", command, shows, printed)
	}

	return err
}
