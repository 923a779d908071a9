package generator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// TestExhaustiveFindsMistakes proves that the laws of the exhaustive model can fail, also with the smallest bounds.
func TestExhaustiveFindsMistakes(t *testing.T) {
	t.Parallel()
	if !proof.Whole() {
		t.Skip("takes half a minute")
	}
	notModelled := map[string]string{
		"CreatedOnceFollowsTheSpec": "the policy is OnChange", "PeriodicIsImpatient": "the policy is OnChange",
		"ChangesItsInput": "steps get copies", "CountsGraceByNow": "the grace period never changes",
		"MakesOneWhileItIsUnready": "no law says why a generation is created",
		"BelievesEachCode":         "an object of an attacker has no codes", "HasAMemory": "its memory is not safe for two workers",
	}
	for name, m := range mistakes() {
		t.Run(name, func(t *testing.T) {
			if why := notModelled[name]; why != "" {
				t.Log(why)
				return
			}
			for _, x := range configurations(short) {
				x.fn = m.fn
				if _, broken := x.search(); broken != "" {
					law, _, _ := strings.Cut(broken, "\n")
					t.Logf("%s: %s", x.name, law)
					return
				}
			}
			t.Errorf("the laws do not tell %s", name)
		})
	}
}

// rare is a machine with a mistake that shows only after several rare events: four generations exist, the generator leaves
// the input, a reconcile stops after it has deleted the exports, and a replica whose clock is ahead flags all of them at once.
// Before that time has come, the oldest is deleted, although its grace period has just begun.
func rare() function {
	return after(func(s *generator.Step, want *generator.Desired, have []generator.Generation, now time.Time) {
		atOnce := len(have) == 4 && len(s.Keep) == 4 && !slices.ContainsFunc(have, func(g generator.Generation) bool {
			return !g.Adopted || g.Exported || !g.Flagged.After(now) || !g.Flagged.Equal(have[0].Flagged)
		})
		if want == nil && atOnce {
			s.Keep = s.Keep[1:]
		}
	})
}

// TestExhaustiveFindsWhatIsRare shows a mistake that the exhaustive model finds, and thousands of random histories do
// not.
func TestExhaustiveFindsWhatIsRare(t *testing.T) {
	t.Parallel()
	if !proof.Whole() {
		t.Skip("takes half a minute")
	}
	x := configurations(usual)[slices.IndexFunc(configurations(usual), func(x exhaustive) bool { return x.name == "clocks" })]
	x.fn, x.faults, x.most = rare(), 3, 4
	_, broken := x.search()
	if law := "before its grace period is over"; !strings.Contains(broken, law) {
		t.Errorf("no state breaks the law %q: %s", law, broken)
	}
	t.Log(broken)
	for seed := range proof.Count("MODEL_HISTORIES", shortHistories, shortHistories) {
		if broken := run(rare(), seed, history(seed), nil); broken != "" {
			t.Fatalf("the random history of seed %d finds it: %s", seed, broken)
		}
	}
}
