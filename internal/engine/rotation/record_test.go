package rotation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecord(t *testing.T) {
	one, two, three := gen(1, Current), gen(2, Current), gen(3, Pending)
	for _, g := range []*Generation{&one, &two, &three} {
		g.Counts = true
	}
	foreign := gen(4, Abandoned)
	step := Step{Keep: []Generation{two, three, foreign}, Drop: []Generation{one}, Current: uid(2), Candidate: uid(3)}
	state := func(g Generation) Copy { return Copy{State: g.State} }
	left := func(g Generation, minute int) Copy { return Copy{State: g.State, Left: at(minute)} }
	again := func(r Record) Record { return r.Again(step, at(5)) }
	next := func(r Record) Record { return r.Next(step, at(5)) }
	cases := map[string]struct {
		reason string
		was    Record
		write  func(Record) Record
		want   Record
	}{
		"First": {
			"what does not count is left out, and what is dropped is not, because that may fail", Record{Uses: true}, next,
			Record{Uses: true, Holds: uid(2), Known: map[string]Copy{uid(1): state(one), uid(2): state(two), uid(3): state(three)}},
		},
		"LetsGo": {
			"the grace period of the former value starts now", holds(1, one), next,
			Record{Uses: true, Holds: uid(2), Known: map[string]Copy{uid(1): left(one, 5), uid(2): state(two), uid(3): state(three)}},
		},
		"LetGoBefore": {
			"the time stays", Record{Uses: true, Holds: uid(2), Known: map[string]Copy{uid(1): left(one, 3)}}, next,
			Record{Uses: true, Holds: uid(2), Known: map[string]Copy{uid(1): left(one, 3), uid(2): state(two), uid(3): state(three)}},
		},
		"LetGoLater": {
			"a clock was ahead", Record{Uses: true, Holds: uid(2), Known: map[string]Copy{uid(1): left(one, 9)}}, next,
			Record{Uses: true, Holds: uid(2), Known: map[string]Copy{uid(1): left(one, 5), uid(2): state(two), uid(3): state(three)}},
		},
		"Lost": {
			"the export may have had each value", Record{Uses: true, Lost: true}, next,
			Record{Uses: true, Holds: uid(2), Known: map[string]Copy{uid(1): left(one, 5), uid(2): state(two), uid(3): left(three, 5)}},
		},
		"Sets": {
			"it has the candidate", candidate(2, two), next,
			Record{Sets: true, Candidate: uid(3), Known: map[string]Copy{uid(1): state(one), uid(2): left(two, 5), uid(3): state(three)}},
		},
		"Both": {
			"it has both", Record{Uses: true, Sets: true, Holds: uid(1), Candidate: uid(2)}, next,
			Record{Uses: true, Sets: true, Holds: uid(2), Candidate: uid(3), Known: map[string]Copy{uid(1): left(one, 5), uid(2): state(two), uid(3): state(three)}},
		},
		"Held": {
			"it keeps its value, and has new copies", holds(1), again,
			Record{Uses: true, Holds: uid(1), Known: map[string]Copy{uid(1): state(one), uid(2): state(two), uid(3): state(three)}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.write(tc.was)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
