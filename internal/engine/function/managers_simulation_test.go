package function_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// managedHistories of the test, unless SIM_HISTORIES is another number.
const managedHistories = 24

// managedInputs have two exports of one generator, whose grace period is ten minutes.
var managedInputs = []string{"refreshPolicy: CreatedOnce", "refreshPolicy: OnChange, keepersExpression: composite.spec.passwordVersion", "refreshPolicy: Periodic, refreshInterval: 2h"}

const managedGrace = 10 * time.Minute

// A managedSimulation is a history in which another field manager edits, removes, copies and writes back any of our
// annotations, and adds its own. Between any two of its attacks, one reconcile is complete.
type managedSimulation struct {
	*functiontest.ControlPlane

	rng    *rand.Rand
	both   bool                 // generations and exports are attacked at once; then an export can go back to a former value
	former map[string][]string  // the texts that an annotation of an object had: by the name and the annotation
	let    map[string]time.Time // when the exports let go of a generation, by its name
	newest int                  // the highest number of a generation whose value is exported
	tokens int
	log    []string
	broken string
}

func (s *managedSimulation) logf(format string, args ...any) {
	s.log = append(s.log, s.Now.Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

func (s *managedSimulation) breaks(format string, args ...any) {
	s.logf(format, args...)
	if s.broken == "" {
		s.broken = fmt.Sprintf(format, args...)
	}
}

// names returns the names of the generations, or of the exports.
func (s *managedSimulation) names(generations bool) []string {
	return slices.DeleteFunc(strings.Fields(s.Names()), func(name string) bool {
		return strings.HasPrefix(name, "shop-admin-") != generations
	})
}

// attack changes annotations of generations, or of exports, or of both. If both are lost at once, earlier states are not
// written back: nothing contradicts them then.
func (s *managedSimulation) attack() {
	on := s.names(s.rng.IntN(2) == 0)
	if s.both && s.rng.IntN(2) == 0 {
		on = slices.Concat(s.names(true), s.names(false))
	}
	for _, name := range on {
		if s.rng.IntN(2) == 0 {
			continue
		}
		key := map[bool]string{true: stateKey, false: recordKey}[strings.HasPrefix(name, "shop-admin-")]
		was := s.former[name+key]
		change := map[string]string{}
		switch how := s.rng.IntN(5); {
		case how == 0:
			change[functiontest.Prefix+[]string{"x", "seal", "generation", "flagged-for-gc-time"}[s.rng.IntN(4)]] = fmt.Sprint(s.rng.IntN(9))
		case how == 1:
			change[key] = ""
		case how == 2:
			change[key] = "{}"
		case how == 3 && !s.both && len(was) > 0:
			change[key] = was[s.rng.IntN(len(was))]
		default:
			other := on[s.rng.IntN(len(on))]
			change[key] = s.AnnotationsOf("Secret", other)[key].GetStringValue() // which is empty if it has none
		}
		s.logf("%s: %v", name, change)
		s.AnnotateSecret(name, change)
	}
}

// request requests another generation, or lets time pass.
func (s *managedSimulation) request() {
	s.tokens++
	switch s.rng.IntN(6) {
	case 0:
		s.logf("rotate=%d", s.tokens)
		s.Annotate(rotateKey, fmt.Sprintf("admin=%d", s.tokens))
	case 1:
		s.logf("passwordVersion=%d", s.tokens)
		functiontest.Set(s.XR, strconv.Itoa(s.tokens), "spec", "passwordVersion")
	case 2:
		s.Wait(time.Duration(s.rng.IntN(12)) * time.Minute)
	default:
		s.Wait(time.Duration(s.rng.IntN(60)) * time.Second)
	}
}

// reconcile reconciles once, and checks what has changed.
func (s *managedSimulation) reconcile() {
	before := map[string]string{}
	for _, name := range s.names(true) {
		before[name] = s.Value(name, "password")
	}
	exported := s.exported()
	s.Reconcile()
	s.logf("%s: %s", s.Names(), s.Condition())
	now := s.exported()
	for name, value := range before {
		if exported[value] && !now[value] {
			s.let[name] = s.Now
		}
		if s.Object("Secret", name) != nil {
			continue
		}
		if at, ok := s.let[name]; now[value] || exported[value] || ok && s.Now.Before(at.Add(managedGrace)) {
			s.breaks("%s is deleted, and exports let go of it at %s", name, at.Format("15:04:05"))
		}
	}
	for value := range now {
		number := 0
		for _, name := range s.names(true) {
			if s.Value(name, "password") == value {
				number, _ = strconv.Atoi(strings.TrimPrefix(name, "shop-admin-"))
			}
		}
		if number == 0 {
			s.breaks("an export has a value of no generation")
		}
		if !s.both && len(now) == 1 && number < s.newest {
			s.breaks("the exports go back to generation %d", number)
		}
		s.newest = max(s.newest, number)
	}
	for _, name := range strings.Fields(s.Names()) {
		for _, key := range []string{stateKey, recordKey} {
			if text := s.AnnotationsOf("Secret", name)[key].GetStringValue(); strings.Contains(text, `"seal"`) {
				s.former[name+key] = append(s.former[name+key], text)
			}
		}
	}
}

// exported returns the values of the exports.
func (s *managedSimulation) exported() map[string]bool {
	out := map[string]bool{}
	for _, name := range s.names(false) {
		if value := s.Value(name, "password"); value != "" {
			out[value] = true
		}
	}
	return out
}

// end lets all settle, and requests a rotation, which must end.
func (s *managedSimulation) end() {
	for range 2 { // there may be as many generations as are kept at once, and none can be added
		for range 8 {
			s.reconcile()
		}
		s.Wait(managedGrace)
	}
	was := s.exported()
	s.Annotate(rotateKey, "admin=last")
	for range 8 {
		s.reconcile()
		s.Wait(time.Second)
	}
	now := s.exported()
	if len(now) != 1 || was[slices.Collect(maps.Keys(now))[0]] {
		s.breaks("in the end, nothing rotates")
	}
	s.Wait(managedGrace)
	for range 3 {
		s.reconcile()
	}
	if s.Condition() != "Available" || len(s.names(true)) != 1 || !maps.Equal(now, s.exported()) {
		s.breaks("in the end, there are %s: %s", s.Names(), s.Condition())
	}
}

// TestManagedSimulation looks for a history with another field manager in which a value is lost, a grace period ends early,
// or a rotation does not end.
func TestManagedSimulation(t *testing.T) {
	n := proof.Count("SIM_HISTORIES", managedHistories/5, managedHistories)
	first, _ := strconv.ParseUint(os.Getenv("SIM_FIRST"), 10, 64)
	for seed := first; seed < first+n; seed++ {
		input := fmt.Sprintf("generators: [{name: admin, gracePeriod: 10m, password: {length: 20}, %s}]", managedInputs[seed%3]) +
			functiontest.ConnectionOfAdmin + "- {name: other, data: [{key: password, value: generated.admin.password}]}\n"
		s := &managedSimulation{
			ControlPlane: functiontest.NewControlPlane(t, input), rng: rand.New(rand.NewPCG(seed, 5)), both: seed%2 == 1,
			former: map[string][]string{}, let: map[string]time.Time{},
		}
		s.Settle()
		for range 30 {
			s.attack()
			s.request()
			s.reconcile()
		}
		s.end()
		if s.broken != "" {
			t.Fatalf("seed %d: %s\n%s", seed, s.broken, strings.Join(s.log, "\n"))
		}
	}
}
