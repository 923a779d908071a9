package diff

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	rehearsal "github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
)

// A timeline is what time alone does to all composites, with the changed Compositions.
type timeline struct {
	Until  time.Time `json:"until"`
	Events []*event  `json:"events"`
	Bursts []burst   `json:"bursts,omitempty"`
}

// An event is what time does to one composite.
type event struct {
	rehearsal.Event

	Composition string    `json:"composition"`
	Composite   state.Ref `json:"composite"`
}

// A burst is many rotations in the same minute. The window would spread them.
type burst struct {
	At             string `json:"at"`
	Composition    string `json:"composition"`
	Generator      string `json:"generator"`
	Rotations      int    `json:"rotations"`
	RotationWindow string `json:"rotationWindow"`
}

const (
	// manyAtOnce is how many rotations in one minute are named.
	manyAtOnce = 10

	// spreading opens a window each day at an hour that depends on the UID of the composite, whose first digit is random.
	spreading = `{scheduleExpression: "'0 %d * * ` +
		`*'.format(['0123456789abcdef'.indexOf(composite.metadata.uid.charAt(0))])", ` +
		"duration: 1h}"
)

// later continues a composite with the pipeline that it will have. An error says where this ends early.
func (t *task) later(ctx context.Context, run *rehearsal.Rehearsal, until time.Time) (out []*event, err error) {
	p := t.changed
	if t.composite.Pinned != "" {
		p = t.inUse
	}
	if p == nil {
		return nil, nil
	}
	end, err := run.Play(ctx, t.composite, p, t.inUse)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the composite
	}
	events, complete, err := end.Forecast(ctx, until, nil)
	for _, e := range events {
		out = append(out, &event{e, t.changed.Name, t.composite.Ref})
	}
	if err == nil && complete.Before(until) {
		at := complete.Format(time.RFC3339)
		err = fmt.Errorf("%s is only continued until %s, because so much happens", t.composite.Ref, at)
	}
	return out, err //nolint:wrapcheck // it names the composite
}

// newTimeline orders events, and finds rotations in the same minute.
func newTimeline(until time.Time, all []*result) *timeline {
	events := []*event{}
	for _, one := range all {
		events = append(events, one.later...)
	}
	slices.SortStableFunc(events, func(a, b *event) int { return a.At.Compare(b.At) })
	out := &timeline{Until: until, Events: events}
	counts := map[burst]int{}
	for _, e := range events {
		if at := e.At.Truncate(time.Minute).Format(time.RFC3339); e.Kind == rehearsal.Rotates {
			counts[burst{At: at, Composition: e.Composition, Generator: e.Generator, RotationWindow: spreading}]++
		}
	}
	for b, n := range counts {
		if b.Rotations = n; n >= manyAtOnce {
			out.Bursts = append(out.Bursts, b)
		}
	}
	slices.SortFunc(out.Bursts, func(a, b burst) int {
		return strings.Compare(a.At+a.Composition+a.Generator, b.At+b.Composition+b.Generator)
	})
	return out
}

// lines describe each day, and then each burst.
func (l *timeline) lines() []string {
	if l == nil {
		return nil
	}
	out, counts := []string{"Until " + l.Until.Format(time.RFC3339) + ":"}, map[string]int{}
	for _, e := range l.Events {
		counts[fmt.Sprintf("  %s  %s", e.At.Format(time.DateOnly), e.text())]++
	}
	if len(l.Events) == 0 {
		out = append(out, "  time alone changes nothing")
	}
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, line+": "+terminal.Counted(counts[line], "composite", "composites"))
	}
	for _, b := range l.Bursts {
		out = append(out, fmt.Sprintf("! %s: %d rotations of generator %s of %s in one minute: "+
			"to spread them over 16 hours, set rotationWindow: %s",
			b.At, b.Rotations, b.Generator, b.Composition, b.RotationWindow))
	}
	return out
}

// text says what happens, without the composite.
func (e *event) text() string {
	generator := fmt.Sprintf("generator %s of %s", e.Generator, e.Composition)
	return map[rehearsal.Kind]string{
		rehearsal.Rotates:  generator + " rotates",
		rehearsal.Retires:  "a grace period of " + generator + " ends",
		rehearsal.Abandons: "an abandoned generation of " + generator + " is deleted",
		rehearsal.Expires:  fmt.Sprintf("a certificate in the key %s of %s expires", e.Key, e.Composition),
	}[e.Kind]
}
