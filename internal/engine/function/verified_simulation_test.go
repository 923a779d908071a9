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

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// noPassword is verifiedPassword without the generator, and without its exports.
const noPassword = `configMaps: [{name: settings, data: [{key: a, value: "'b'"}]}]`

// verifiedSimulations of the test, unless SIM_HISTORIES is another number.
const verifiedSimulations = 20

// A verifiedSimulation is a history of a password that a database must accept. The model of internal/engine/rotation does the
// same without the function: here, exports and annotations are added, and clients that change the annotations.
type verifiedSimulation struct {
	database

	rng      *rand.Rand
	hostile  bool
	obeys    bool
	removed  bool
	password string          // that the database accepts
	accepted map[string]bool // passwords that it ever accepted
	marked   map[string]bool // passwords that were abandoned
	log      []string
	broken   string
}

func newVerifiedSimulation(d database, seed uint64) *verifiedSimulation {
	d.XR = functiontest.Parse(d.T, functiontest.ControlPlaneXR)
	d.Stored, d.Listed, d.UIDs, d.Now = map[string]*structpb.Struct{}, nil, 0, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	d.SetInput(verifiedPassword)
	s := &verifiedSimulation{
		database: d, rng: rand.New(rand.NewPCG(seed, 4)), hostile: seed%2 == 1, obeys: true,
		accepted: map[string]bool{}, marked: map[string]bool{},
	}
	s.set("")
	s.Restart()
	s.Rand, s.Foreground = s.rng, true
	return s
}

func (s *verifiedSimulation) logf(format string, args ...any) {
	s.log = append(s.log, s.Now.Format("02 15:04:05 ")+fmt.Sprintf(format, args...))
}

func (s *verifiedSimulation) breaks(format string, args ...any) {
	s.logf(format, args...)
	if s.broken == "" {
		s.broken = fmt.Sprintf(format, args...)
	}
}

// has returns the password that an object has, or nothing.
func (s *verifiedSimulation) has(name string) string {
	if s.Stored["v1|Secret|team-a|"+name] == nil {
		return ""
	}
	return s.Value(name, "password")
}

// secrets returns the names of the generations and the exports.
func (s *verifiedSimulation) secrets() []string {
	return slices.DeleteFunc(strings.Fields(s.Names()), func(name string) bool {
		return name == "applied" || s.Stored["v1|Secret|team-a|"+name] == nil
	})
}

// reconcile reconciles, and stops after some writes.
func (s *verifiedSimulation) reconcile(most int) {
	req := s.Request()
	if s.Response = s.Run(req); s.Fatal() != "" {
		s.logf("fatal: %s", s.Fatal())
		return
	}
	s.logf("reconcile with %d writes: %s", most, s.Condition())
	s.Before = func(w functiontest.Write) error {
		if most--; most < 0 {
			return errStopped
		}
		if w.Verb == functiontest.Deletes {
			s.checkDelete(w.Object)
		}
		return nil
	}
	s.After = func(w functiontest.Write, _ *structpb.Struct, err error) {
		if err != nil {
			s.breaks("cannot apply %s: %v", w.Name, err)
		}
		s.check()
	}
	if isLost(s.T, s.Compose(s.Response, req.GetObserved().GetResources())) && s.rng.IntN(2) == 0 {
		s.Restart()
	}
	if most > 0 || s.rng.IntN(2) == 0 {
		s.Collect()
	}
}

func (s *verifiedSimulation) checkDelete(o *structpb.Struct) {
	name := functiontest.Meta(o, "name")
	s.logf("%s is deleted", name)
	for _, export := range []string{"shop-setter", "shop-app"} {
		// An export that is already being deleted cannot keep a generation.
		gone := isDeleting(s.Stored["v1|Secret|team-a|"+export])
		if isGeneration := strings.HasPrefix(name, "shop-admin-"); isGeneration && !gone && s.has(export) == exportedValue(o, "password") {
			s.breaks("%s is deleted while %s has its value", name, export)
		}
	}
}

// check checks what consumers have.
func (s *verifiedSimulation) check() {
	for _, name := range s.secrets() {
		state := functiontest.Meta(s.Stored["v1|Secret|team-a|"+name], "annotations", functiontest.Prefix+"generator-state")
		if strings.Contains(state, `"stage":"abandoned"`) && !strings.Contains(state, "forged") {
			s.marked[s.has(name)] = true
		}
	}
	switch app := s.has("shop-app"); {
	case app == "":
	case !s.accepted[app]:
		s.breaks("consumers have a password that the database never accepted")
	case s.marked[app]:
		s.breaks("consumers have a password that was abandoned")
	}
}

func (s *verifiedSimulation) provide() {
	if p := s.has("shop-setter"); s.obeys && p != "" && p != s.password {
		s.password, s.accepted[p] = p, true
		s.set(p)
		s.logf("the database accepts the password of the setter")
	}
}

// attack changes an annotation of a Secret, as a client that does not know its data.
func (s *verifiedSimulation) attack() {
	secrets := s.secrets()
	if !s.hostile || len(secrets) == 0 {
		return
	}
	name := secrets[s.rng.IntN(len(secrets))]
	key := functiontest.Prefix + []string{"generator-state", "generator-state", "export-state", "export-state", "anything"}[s.rng.IntN(5)]
	value := []string{
		"", "2026-11-21T12:00:00Z",
		`{"forged":true,"generator":"admin","generation":2,"state":{"stage":"current","kind":"password"}}`,
		`{"forged":true,"generator":"admin","generation":2,"state":{"stage":"current","kind":"resource"}}`,
		`{"forged":true,"generator":"admin","generation":2,"state":{"stage":"abandoned","kind":"password"}}`,
		`{"forged":true,"generator":"admin","generation":1,"state":{"stage":"previous","since":"2026-11-21T12:00:00Z"}}`,
		`{"generators":{"admin":{"holds":"uid-3","candidate":"uid-3","known":[{"uid":"uid-3","generation":2}]}}}`,
	}[s.rng.IntN(7)]
	s.logf("%s of %s is now %s", key, name, value)
	functiontest.Set(s.Stored["v1|Secret|team-a|"+name], value, "metadata", "annotations", key)
}

func (s *verifiedSimulation) change() {
	switch s.rng.IntN(20) {
	case 0, 1:
		n := s.rng.IntN(4)
		s.Annotate(rotateKey, fmt.Sprintf("admin=%d", n))
		s.logf("rotate to %d", n)
	case 2:
		s.obeys = !s.obeys
	case 3: // it forgets, and has another password that it had before
		for _, p := range slices.Sorted(maps.Keys(s.accepted)) {
			if s.rng.IntN(2) == 0 {
				s.password = p
				s.set(p)
				s.logf("the database has an old password")
			}
		}
	case 4:
		s.removed = !s.removed
		s.SetInput(map[bool]string{true: noPassword, false: verifiedPassword}[s.removed])
		s.logf("removed: %t", s.removed)
	case 5, 6:
		s.Wait(time.Duration(s.rng.IntN(180)) * time.Minute)
	case 7, 8:
		s.Wait(time.Duration(s.rng.IntN(20)) * time.Minute)
	case 9, 10:
		s.provide()
	case 11:
		s.attack()
	default:
		s.reconcile(s.rng.IntN(6))
	}
	s.Wait(time.Second)
}

// calm lets everything work for three days. Then the database, the setter and the consumers must agree.
func (s *verifiedSimulation) calm() {
	s.removed, s.obeys = false, true
	s.SetInput(verifiedPassword)
	for range 9 {
		for range 4 {
			s.reconcile(100)
			s.provide()
			s.Wait(time.Second)
		}
		s.Wait(8 * time.Hour)
	}
	setter, app := s.has("shop-setter"), s.has("shop-app")
	if app == "" || setter != app || s.password != app {
		s.breaks("in the end, the database, the setter and consumers do not agree: %s", s.Condition())
	}
	if got := s.Condition(); !s.hostile && !strings.HasPrefix(got, "Available") {
		s.breaks("in the end, the condition is %s", got)
	}
}

func TestVerifiedSimulation(t *testing.T) {
	n := proof.Count("SIM_HISTORIES", verifiedSimulations/10, verifiedSimulations)
	d := database{functiontest.NewControlPlane(t, verifiedPassword)}
	first, _ := strconv.ParseUint(os.Getenv("SIM_FIRST"), 10, 64)
	for seed := first; seed < first+n; seed++ {
		s := newVerifiedSimulation(d, seed)
		d.Fn.Now = func() time.Time { return s.Now }
		for range 40 {
			s.change()
		}
		s.calm()
		if s.broken != "" {
			t.Fatalf("seed %d: %s\n%s", seed, s.broken, strings.Join(s.log, "\n"))
		}
	}
}
