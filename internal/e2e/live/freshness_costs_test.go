package live_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// freshSecrets is the environment variable with the number of Secrets of 4 KiB in the cluster, 20 in each namespace.
const freshSecrets = "LIVE_FRESH_SECRETS"

// secretSize is the size of the data of such a Secret.
const secretSize = 4 << 10

// TestFreshnessCosts measures what Crossplane needs for the watches of Secrets. It has an informer of all Secrets of the
// cluster as soon as a composite has a Secret. To require connection Secrets adds no watch.
func TestFreshnessCosts(t *testing.T) {
	if err := stage(); err != nil {
		t.Fatal(err)
	}

	installQuiet(t)

	count := loadNumber(t, freshSecrets, 100)
	applySecrets(t, count)

	restore, err := plane.RestartCrossplane(t.Context())
	t.Cleanup(func() { restoreCrossplane(t, restore) })

	if err != nil {
		t.Fatal(err)
	}

	watches := map[string]float64{}
	measure := func(stage string) {
		time.Sleep(5 * time.Second) // the informers of new kinds

		watches[stage] = watchesOfSecrets(t)
		figure("costs-"+stage, fmt.Sprintf("secrets=%d kibibytes=%d watches-of-secrets=%.0f crossplane-MiB=%.0f", count, secretSize>>10,
			watches[stage], memoryOf(t, plane.Crossplane.PID())))
	}

	measure("start")

	for _, e := range []struct{ stage, input string }{
		{"config-map", "configMaps: [{name: connection, data: [{key: name, value: composite.metadata.name}]}]"},
		{"secret", "secrets: [{name: connection, data: [{key: name, value: composite.metadata.name}]}]"},
		{"required", `secrets: [{name: connection, from: db, data: [{valueMap: "{'password': secret.password}"}]}]`},
	} {
		s := scenario{ControlPlane: plane, function: functionName, composer: quiet, ns: "costs-" + e.stage}
		if err := first(
			func() error { return s.open(t.Context(), "App", e.input, database) },
			func() error { return s.applyApp(t.Context()) },
			func() error { return s.provide(t.Context(), "app-db", "app-db-details", login(), readyStatus("")) },
			func() error { return s.says(t.Context(), s.app(), "Available") },
		); err != nil {
			t.Fatalf("%v\n%s", err, events(s.ns))
		}

		measure(e.stage)
	}

	if watches["required"] != watches["secret"] {
		t.Errorf("want as many watches of Secrets with required Secrets as without them, got %v and %v", watches["required"], watches["secret"])
	}
}

// applySecrets creates Secrets that no composite reads.
func applySecrets(t *testing.T, count int) {
	t.Helper()

	const each = 20

	var wg sync.WaitGroup

	for user := range 8 {
		wg.Go(func() {
			for ns := user; ns*each < count; ns += 8 {
				text := fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: other-%d}}", ns)

				for n := range min(each, count-ns*each) {
					text += fmt.Sprintf("\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s%d, namespace: other-%d}, stringData: {value: %s}}", n, ns, strings.Repeat("x", secretSize))
				}

				if err := plane.Apply(t.Context(), text); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}

	wg.Wait()
}

var watchSample = regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{([^}]*)\} (\S+)$`)

// watchesOfSecrets returns the number of watches of Secrets that clients have at the API server.
func watchesOfSecrets(t *testing.T) float64 {
	t.Helper()

	text, err := plane.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	var all float64

	for _, m := range watchSample.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(m[1], `resource="secrets"`) || !strings.Contains(m[1], `verb="WATCH"`) {
			continue
		}

		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}

		all += n
	}

	return all
}

// TestCircuitBreaker changes a connection Secret so often that Crossplane's circuit breaker opens. Crossplane then drops
// events, and the event of the last change is among them. The export has the last value after a call that needs no event.
func TestCircuitBreaker(t *testing.T) {
	if err := stage(); err != nil {
		t.Fatal(err)
	}

	installQuiet(t)

	restore, err := plane.RestartCrossplane(t.Context())
	t.Cleanup(func() { restoreCrossplane(t, restore) })

	if err != nil {
		t.Fatal(err)
	}

	s := scenario{ControlPlane: plane, function: functionName, composer: quiet, ns: "breaker"}
	opened, changes := breakerOpens(t), 0

	if err := first(
		func() error {
			return s.open(t.Context(), "App", `secrets: [{name: connection, from: db, data: [{valueMap: "{'username': secret.username, 'password': secret.password}"}]}]`, database)
		},
		func() error { return s.applyApp(t.Context()) },
		func() error { return s.provide(t.Context(), "app-db", "app-db-details", login(), readyStatus("")) },
		func() error { return s.says(t.Context(), s.app(), "Available") },
		func() error {
			return eventually(t.Context(), 2*time.Minute, "the circuit breaker", func() error {
				if breakerOpens(t) > opened {
					return nil
				}

				changes++

				if err := s.connect(t.Context(), "app-db", "app-db-details", login()); err != nil {
					return err
				}

				return fmt.Errorf("%d changes did not open it", changes)
			})
		},
	); err != nil {
		t.Fatalf("%v\n%s", err, events(s.ns))
	}

	last := login()
	took, err := s.lastExport(t.Context(), last)

	if err != nil {
		t.Fatalf("%v\n%s", err, events(s.ns))
	}

	figure("breaker", fmt.Sprintf("changes-until-open=%d seconds-until-last-export=%.0f", changes, took.Seconds()))
}

// lastExport makes changes that Crossplane ignores, and then the last one. It returns how long the export took.
func (s scenario) lastExport(ctx context.Context, last map[string]string) (time.Duration, error) {
	for range 5 {
		if err := s.connect(ctx, "app-db", "app-db-details", login()); err != nil {
			return 0, err
		}
	}

	if err := s.connect(ctx, "app-db", "app-db-details", last); err != nil {
		return 0, err
	}

	began := time.Now()
	err := eventually(ctx, 3*time.Minute, "the last value", func() error {
		got, err := s.Data(ctx, s.ns, "app-connection")
		if err == nil && got["password"] != last["password"] {
			err = errors.New("the Secret has another one")
		}

		return err
	})

	return time.Since(began), err
}
