package function_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// An itemSimulation is a history of a list: items are added, removed, reordered, duplicated, rotated, and the list
// disappears, while reconciles stop anywhere.
type itemSimulation struct {
	*functiontest.ControlPlane
	rng *rand.Rand

	versions map[string]int // of the items in the list
	bad      string         // what is wrong with the list, or empty
	left     map[string]time.Time
	log      []string
}

// TestSimulationOfItems looks for a history that breaks a promise.
func TestSimulationOfItems(t *testing.T) {
	n := proof.Count("SIM_HISTORIES", 10, 40)
	for seed := range n {
		s := &itemSimulation{
			ControlPlane: functiontest.NewControlPlane(t, itemPasswords), rng: rand.New(rand.NewPCG(seed, 1)),
			versions: map[string]int{"anna": 1, "bert": 1}, left: map[string]time.Time{},
		}
		s.Rand, s.Foreground = s.rng, true
		for range 40 {
			s.event()
			if s.T.Failed() {
				t.Fatalf("seed %d:\n%s", seed, strings.Join(s.log, "\n"))
			}
		}
		s.end()
		if s.T.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(s.log, "\n"))
		}
	}
}

func (s *itemSimulation) logf(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// event changes something, or reconciles.
func (s *itemSimulation) event() {
	name := []string{"anna", "bert", "carl", "anna-1", "anna-1-abcdefgh"}[s.rng.IntN(5)]
	switch n := s.rng.IntN(20); {
	case n < 2:
		delete(s.versions, name)
	case n < 4:
		s.versions[name] = max(s.versions[name], 1)
	case n < 6 && s.versions[name] > 0:
		s.versions[name]++
	case n < 8:
		s.bad = []string{"", "", "missing", "duplicate", "illegal", "no list"}[s.rng.IntN(6)]
	case n < 10:
		s.Wait([]time.Duration{time.Minute, time.Hour}[s.rng.IntN(2)])
	default:
		s.reconcile(s.rng.IntN(3) == 0)
		return
	}
	s.logf("%v %s", s.versions, s.bad)
}

// list sets the list of the composite, in random order.
func (s *itemSimulation) list() {
	names := slices.Sorted(maps.Keys(s.versions))
	s.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	users := []string{}
	for _, name := range names {
		users = append(users, fmt.Sprintf("%s:%d", name, s.versions[name]))
	}
	switch s.bad {
	case "duplicate":
		users = append(users, "bert", "bert")
	case "illegal":
		users = append(users, "Illegal")
	}
	setUsers(s.ControlPlane, users...)
	spec := s.XR.GetFields()["spec"].GetStructValue().GetFields()
	switch s.bad {
	case "missing":
		delete(spec, "users")
	case "no list":
		spec["users"] = structpb.NewStringValue("anna")
	}
}

// isUnknown reports whether the item of a generation is not known.
func (s *itemSimulation) isUnknown(name string) bool {
	switch s.bad {
	case "":
		return false
	case "duplicate":
		return name == "bert" || s.versions[name] == 0
	case "illegal":
		return s.versions[name] == 0
	}
	return true
}

// itemOf returns the item of an object of the test, and whether it is a generation.
func itemOf(key string) (item string, generation, ok bool) {
	name := key[strings.LastIndex(key, "|")+1:]
	if item, ok := strings.CutPrefix(name, "shop-user-"); ok {
		return item, false, true
	}
	rest, ok := strings.CutPrefix(name, "shop-users-")
	if i := strings.LastIndex(rest, "-"); ok && i > 0 {
		return rest[:i], true, true
	}
	return "", false, false
}

// reconcile reconciles, and stops anywhere if it is interrupted.
func (s *itemSimulation) reconcile(interrupted bool) {
	s.list()
	req := s.Request()
	rsp := s.Run(req)
	s.list() // in another order
	if again := s.Call(); !proto.Equal(s.comparable(rsp), s.comparable(again)) {
		s.T.Errorf("another order of the list changes the response: %s and %s", rsp, again)
	}
	s.Response = rsp
	steps := len(s.Listed) + 1 + len(rsp.GetDesired().GetResources())
	if interrupted {
		steps = s.rng.IntN(steps + 1)
	}
	s.logf("reconcile, %d steps: %s", steps, s.Condition())
	s.Before = func(w functiontest.Write) error {
		if steps--; steps < 0 {
			return errStopped
		}
		switch w.Verb {
		case functiontest.Deletes:
			s.checkDelete(w.Key)
		case functiontest.Lists:
		case functiontest.Applies:
			s.checkWrite(w.Key, w.Object)
		}
		return nil
	}
	if isLost(s.T, s.Compose(rsp, req.GetObserved().GetResources())) && s.rng.IntN(2) == 0 {
		s.Restart()
	}
	if !interrupted || s.rng.IntN(2) == 0 {
		s.Collect()
	}
}

// comparable returns a response without what may differ: the values that it makes, and positions in a bad list.
func (s *itemSimulation) comparable(rsp *fnv1.RunFunctionResponse) *fnv1.RunFunctionResponse {
	out := proto.CloneOf(rsp)
	if s.bad != "" {
		out = &fnv1.RunFunctionResponse{Desired: out.GetDesired(), Requirements: out.GetRequirements()}
	}
	for name, r := range out.GetDesired().GetResources() {
		if strings.HasPrefix(name, "generated/") {
			r.Resource = nil
		}
	}
	return out
}

// checkDelete checks that a generation is deleted only after its grace period, and nothing of an unknown item is.
func (s *itemSimulation) checkDelete(key string) {
	item, generation, _ := itemOf(key)
	o := s.Stored[key]
	s.logf("delete %s", key)
	if s.isUnknown(item) {
		s.T.Errorf("%s is deleted, and its item is not known", key)
	}
	if !generation {
		return
	}
	password := exportedValue(o, "password")
	export := s.Stored["v1|Secret|team-a|shop-user-"+item]
	if exportedValue(export, "password") == password {
		s.T.Errorf("%s is deleted, and its value is exported", key)
	}
	adopted := wasInUse(o)
	flag := functiontest.FlaggedOf(o)
	for _, known := range functiontest.RecordOf(export)["users/"+item].GetStructValue().GetFields()["known"].GetListValue().GetValues() {
		if k := known.GetStructValue().GetFields(); k["uid"].GetStringValue() == functiontest.Meta(o, "uid") && flag == "" {
			flag = functiontest.FlagOf(k["state"].GetStructValue().GetFields())
		}
	}
	flagged, err := time.Parse(time.RFC3339, flag)
	if adopted && (err != nil || s.Now.Before(flagged.Add(time.Hour))) {
		s.T.Errorf("%s is deleted before the end of its grace period: flagged %v", key, flagged)
	}
}

// checkWrite checks that a value is exported only after it is stored, and that nothing of an unknown item changes.
func (s *itemSimulation) checkWrite(key string, o *structpb.Struct) {
	item, generation, ok := itemOf(key)
	was := s.Stored[key]
	switch {
	case !ok:
		s.T.Errorf("%s is written", key)
	case s.isUnknown(item) && was == nil && !slices.Contains(s.Listed, key):
		s.T.Errorf("%s is created, and its item is not known", key)
	case s.isUnknown(item) && was != nil && (!proto.Equal(was.GetFields()["data"], o.GetFields()["data"]) ||
		annotation(was, "generator-state") != annotation(o, "generator-state")):
		s.T.Errorf("%s changes, and its item is not known", key)
	case generation:
		return
	}
	password := exportedValue(o, "password")
	for key, g := range s.Stored {
		if of, generation, _ := itemOf(key); generation && exportedValue(g, "password") == password {
			if of != item {
				s.T.Errorf("%s has the password of %s", item, of)
			}
			return
		}
	}
	if exportedValue(was, "password") != password {
		s.T.Errorf("%s has a password that is not stored", item)
	}
}

// end corrects the list, and checks that each item has one generation, and nothing else is left.
func (s *itemSimulation) end() {
	s.bad = ""
	for range 3 {
		for range 6 {
			s.reconcile(false)
		}
		s.Wait(2 * time.Hour)
	}
	for range 3 {
		s.reconcile(false)
	}
	of := map[string]int{}
	for key := range s.Stored {
		item, generation, _ := itemOf(key)
		if s.versions[item] == 0 {
			s.T.Errorf("%s is left", key)
		}
		if generation {
			of[item]++
		} else if exportedValue(s.Stored[key], "former") != "" {
			s.T.Errorf("%s has a former password", key)
		}
	}
	for item := range s.versions {
		if of[item] != 1 || exportedValue(s.Stored["v1|Secret|team-a|shop-user-"+item], "password") == "" {
			s.T.Errorf("%s has %d generations", item, of[item])
		}
	}
	if s.Condition() != "Available" {
		s.T.Error(s.Condition())
	}
}
