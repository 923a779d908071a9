package live_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// These environment variables set the size of TestFreshness. The page names the values for its figures. CI uses
// smaller ones.
const (
	freshComposites = "LIVE_FRESH_COMPOSITES" // composites
	freshChanges    = "LIVE_FRESH_CHANGES"    // of each connection Secret
	freshRest       = "LIVE_FRESH_REST"       // the time without any change
)

// quiet is a function that composes resources, and whose responses have no TTL, so that it causes no calls.
const quiet = "function-compose-quiet"

// freshInput exports the connection details of a Database.
const freshInput = `
freshness: Watch
secrets:
- name: connection
  from: db
  data:
  - valueMap: "{'username': secret.username, 'password': secret.password}"
  - {key: url, value: "'app://%s:%s@%s'.format([secret.username, secret.password, resource.status.host])"}
`

// A freshSet are composites whose changes are measured together.
type freshSet struct {
	scenario

	name       string
	composites int
	arrived    *arrivals
	took       []time.Duration // from each change of a connection Secret to its export
	mu         sync.Mutex
}

// arrivals are the times at which exported passwords were seen first.
type arrivals struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (a *arrivals) add(_ string, o *unstructured.Unstructured) {
	if o.GetLabels()["crossplane.io/composite"] == "" {
		return
	}

	a.mu.Lock()
	defer a.mu.Unlock()

	if password := live.DataOf(o)["password"]; a.at[password].IsZero() {
		a.at[password] = time.Now()
	}
}

func (a *arrivals) of(password string) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()

	at, ok := a.at[password]

	return at, ok
}

// TestFreshness changes connection Secrets, and measures how long it takes until exported Secrets have the new values,
// and how often Crossplane calls the function. Crossplane has its default flags.
func TestFreshness(t *testing.T) {
	if err := stage(); err != nil {
		t.Fatal(err)
	}

	installQuiet(t)

	// Crossplane counts the calls of each function. Composites of other tests call the function under its usual name.
	watches := installAs(t.Context(), t, "function-export-fresh")

	restore, err := plane.RestartCrossplane(t.Context())
	t.Cleanup(func() { restoreCrossplane(t, restore) })

	if err != nil {
		t.Fatal(err)
	}

	arrived := &arrivals{at: map[string]time.Time{}}
	if err := plane.Watch(t.Context(), "v1", "Secret", arrived.add); err != nil {
		t.Fatal(err)
	}

	count := loadNumber(t, freshComposites, 6)
	watching := &freshSet{name: "watch", composites: count, arrived: arrived,
		scenario: scenario{ControlPlane: plane, function: watches, composer: quiet, ns: "fresh-watch"}}
	opened := breakerOpens(t)

	changes := loadNumber(t, freshChanges, 3)
	if err := watching.create(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, events(watching.ns))
	}

	before := callsByFunction(t, watching)
	if err := watching.change(t.Context(), changes, 8*time.Second); err != nil {
		t.Fatalf("%v\n%s", err, events(watching.ns))
	}

	before.report(t, watching, float64(changes*count))
	slices.Sort(watching.took)

	at := func(q float64) float64 { return watching.took[int(q*float64(len(watching.took)-1))].Seconds() }
	figure("fresh-watch", fmt.Sprintf("composites=%d changes=%d p50-s=%.2f p95-s=%.2f max-s=%.2f", count, len(watching.took), at(0.5), at(0.95), at(1)))

	if rest := os.Getenv(freshRest); rest != "" {
		countAtRest(t, rest, watching)
	} else {
		comesToRest(t, watching)
	}

	if n := breakerOpens(t) - opened; n > 0 {
		t.Errorf("Crossplane's circuit breaker opened %v times, although each connection Secret changes every few seconds", n)
	}
}

// installAs installs the function under another name, and stops it with the test.
func installAs(ctx context.Context, t *testing.T, name string) string {
	t.Helper()

	f, err := install(ctx, name, "package", state("function-export"), nil)
	if f != nil {
		t.Cleanup(f.Stop)
	}

	if err != nil {
		t.Fatal(err)
	}

	return name
}

// comesToRest waits for 20 seconds without a call. A composite that watches may be called once more, a minute after its
// first reconcile or after a reconcile that failed, and then only every 10 minutes.
func comesToRest(t *testing.T, s *freshSet) {
	t.Helper()

	const rest = 20 * time.Second

	calls, last, began := callsByFunction(t, s).calls[s.name], time.Now(), time.Now()
	for time.Since(last) < rest {
		if time.Since(began) > 4*time.Minute {
			t.Fatalf("composites that watch are still called: %v calls, the last %s ago", calls, time.Since(last))
		}

		time.Sleep(time.Second)

		if n := callsByFunction(t, s).calls[s.name]; n != calls {
			calls, last = n, time.Now()
		}
	}

	figure("rest-"+s.name, fmt.Sprintf("composites=%d seconds-until-rest=%.0f", s.composites, last.Sub(began).Seconds()))
}

// countAtRest counts the calls while nothing changes. Without a change, a composite that watches is called every 10 minutes,
// plus or minus a tenth.
func countAtRest(t *testing.T, rest string, sets ...*freshSet) {
	t.Helper()

	long, err := time.ParseDuration(rest)
	if err != nil {
		t.Fatalf("cannot use %s=%q: %v", freshRest, rest, err)
	}

	time.Sleep(70 * time.Second) // the call that follows a first or failed reconcile

	before := callsByFunction(t, sets...)
	time.Sleep(long)
	after := callsByFunction(t, sets...)

	for _, s := range sets {
		calls := after.calls[s.name] - before.calls[s.name]
		figure("rest-"+s.name, fmt.Sprintf("composites=%d minutes=%.1f calls=%.0f calls-per-composite-and-minute=%.3f",
			s.composites, long.Minutes(), calls, calls/float64(s.composites)/long.Minutes()))
	}
}

// create creates the composites, and waits until all of them export.
func (f *freshSet) create(ctx context.Context) error {
	if err := f.open(ctx, "App", freshInput, database); err != nil {
		return err
	}

	return f.each(func(name string) error {
		return first(
			func() error { return f.applyNamed(ctx, name) },
			func() error {
				return f.provide(ctx, name+"-db", name+"-db-details", login(), readyStatus(`"host": "db",`))
			},
			func() error {
				return f.says(ctx, live.Ref{APIVersion: group, Kind: "App", Namespace: f.ns, Name: name}, "Available")
			},
		)
	})
}

// applyNamed applies a composite with a name.
func (s scenario) applyNamed(ctx context.Context, name string) error {
	return s.Apply(ctx, fmt.Sprintf("{apiVersion: %s, kind: App, metadata: {name: %s, namespace: %s}, spec: {crossplane: {compositionRef: {name: %[3]s}}}}", group, name, s.ns))
}

// each runs do for all composites at once.
func (f *freshSet) each(do func(name string) error) error {
	errs := make(chan error, f.composites)

	for n := range f.composites {
		go func() { errs <- do(fmt.Sprintf("app-%d", n)) }()
	}

	var failed error

	for range f.composites {
		if err := <-errs; err != nil {
			failed = err
		}
	}

	return failed
}

// change changes each connection Secret several times, on average once in the given time, and waits for its export.
func (f *freshSet) change(ctx context.Context, times int, every time.Duration) error {
	return f.each(func(name string) error {
		for range times {
			time.Sleep(every/2 + rand.N(every+time.Second))

			given, began := login(), time.Now()
			if err := f.connect(ctx, name+"-db", name+"-db-details", given); err != nil {
				return err
			}

			err := eventually(ctx, 3*time.Minute, "the export of a change of "+name, func() error {
				at, ok := f.arrived.of(given["password"])
				if !ok {
					return fmt.Errorf("it has the former value")
				}

				f.mu.Lock()
				defer f.mu.Unlock()

				f.took = append(f.took, at.Sub(began))

				return nil
			})
			if err != nil {
				return err
			}
		}

		return nil
	})
}

// A callCount are the calls of the functions of sets so far.
type callCount struct{ calls map[string]float64 }

func callsByFunction(t *testing.T, sets ...*freshSet) callCount {
	t.Helper()

	text, out := getText(t, plane.CrossplaneMetrics()), callCount{map[string]float64{}}
	for _, s := range sets {
		out.calls[s.name] = callsOf(text, s.function)
	}

	return out
}

// report prints the calls for each change.
func (c callCount) report(t *testing.T, s *freshSet, changes float64) {
	t.Helper()

	n := callsByFunction(t, s).calls[s.name] - c.calls[s.name]
	figure("calls-"+s.name, fmt.Sprintf("changes=%.0f calls=%.0f calls-per-change=%.2f", changes, n, n/changes))
}

var opens = regexp.MustCompile(`(?m)^circuit_breaker_opens_total\{[^}]*\} (\S+)$`)

// breakerOpens returns how often Crossplane's circuit breaker has opened.
func breakerOpens(t *testing.T) float64 {
	t.Helper()

	var all float64

	for _, m := range opens.FindAllStringSubmatch(getText(t, plane.CrossplaneMetrics()), -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}

		all += n
	}

	return all
}

// installQuiet installs the function quiet.
var installQuietOnce = sync.OnceValue(func() error {
	return installComposer(context.Background(), quiet, state("function-compose"), "--as=function-compose", "--ttl=0s")
})

func installQuiet(t *testing.T) {
	t.Helper()

	if err := installQuietOnce(); err != nil {
		t.Fatal(err)
	}
}

// restoreCrossplane starts Crossplane with its usual flags, also if the context of the test has ended.
func restoreCrossplane(t *testing.T, restore func(ctx context.Context) error) {
	t.Helper()

	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()

	if err := restore(ctx); err != nil {
		t.Error(err)
	}
}
