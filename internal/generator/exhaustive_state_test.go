package generator_test

import (
	"time"

	"github.com/crossplane-contrib/function-export/internal/generator"
)

// The exhaustive model: every state that a small Crossplane and the real machine can reach within bounds, and not only a
// sample of histories as in TestModel. A state is a small value that can be compared. Times are relative to the present
// one, in units that are as long as everything that the machine waits for.

// unit of time. The grace period, and the grace period of lost generations, are two units. Candidates may wait for one
// unit. An abandoned rotation starts again after one or two. The shortest interval is less than a unit: after one unit,
// a generation is old enough to be replaced.
const (
	unit       = 12 * time.Hour
	graceUnits = 2
	waitUnits  = 1
)

// A moment in units before or after the present one, or never. A moment before longAgo is as long ago as the machine can
// distinguish: the grace period, and the difference between two clocks.
type ticks int8

const (
	never   ticks = -100
	longAgo ticks = -3
)

// objects is how many generations can exist at once in a state, and one of a stale response.
const objects = 8

// An instance is a generation as the API server has it. The fields after its state are facts of the model, to check laws.
type instance struct {
	Number, Value, UID uint8
	Follows            uint32 // UIDs

	Made, Flagged, Offered, FailedAt     ticks
	Rotation, Spec, Source               uint8
	Highest, Failed, FailedFor, Failures uint8
	Waited                               uint8
	Adopted, Retired, Abandoned, Ready   bool

	Forged, Lost, WasReady, WasAdopted, WasUsed, WasAbandoned bool
	Young                                                     bool  // created since time last passed
	LetGo                                                     ticks // when an export stopped to have it
	SetBack                                                   bool  // a late response gave it to an export again
}

// A copied is an exported Secret, and of which generation its value is.
type copied struct {
	Number, Value, UID uint8
	Highest            uint8
	Former             uint32 // UIDs
	Newest             uint8  // of all numbers that it ever had
	Source             uint8  // the value of the source that is beside a hash
}

// A request is what the composite says.
type request struct {
	Rotation, Spec uint8
	Source         uint8
	Gone, Unknown  bool
	Refs           uint16 // numbers
	Accepted       uint32 // UIDs of objects that the owner of the composite accepts as generations
}

// A cluster of objects that a reconcile observes.
type view struct {
	Objects [objects]instance
	Exports [2]copied
	Setter  copied // the Secret of those that set the candidate
	Request request
}

// Kinds of old observations.
const (
	fresh  uint8 = iota
	cached       // the composite is old, and the rest is not
	late         // all is old: the response is on its way
)

// A point is a state of the model.
type point struct {
	view

	Old     view // what another replica sees
	OldKind uint8
	WasLate bool // a response was late, and no other one will be

	Held     [2]bool // exports that wait for something else
	Accepted uint8   // the value that the database accepts
	Skew     ticks   // of the clock of the other replica
	Faults   uint8   // that can still happen
	Top      uint8   // the highest number that was used, while a generation is in use
	Attacked bool
	Overflow bool // there are more objects than a state can have
}

// epoch is the present time in each state.
var epoch = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func (t ticks) time() time.Time {
	if t == never {
		return time.Time{}
	}
	return epoch.Add(time.Duration(t) * unit)
}

func ticksOf(t time.Time) ticks {
	if t.IsZero() {
		return never
	}
	return ticks(t.Sub(epoch) / unit)
}

// texts of specifications and rotations, and what their requests are called.
var (
	specTexts     = [...]string{"", "spec-1", "spec-2"}
	rotationTexts = [...]string{"", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11"}
	requestTexts  = map[string]uint8{}
)

func init() { //nolint:gochecknoinits // a table for all tests
	for r := range rotationTexts {
		for s := range specTexts {
			requestTexts[requestText(uint8(r*len(specTexts)+s))] = uint8(r*len(specTexts) + s)
		}
	}
}

// requestText returns what a failure says of a request.
func requestText(n uint8) string {
	r, s := int(n)/len(specTexts), int(n)%len(specTexts)
	return generator.Hash("password", specTexts[s], "", rotationTexts[r])
}

// state returns what the annotations of an object say.
func (o instance) state() generator.Generation {
	g := generator.Generation{
		Number: int(o.Number), Made: o.Made.time(), Flagged: o.Flagged.time(), OfferedAt: o.Offered.time(),
		SpecHash: specTexts[o.Spec], Rotation: rotationTexts[o.Rotation], Adopted: o.Adopted, Retired: o.Retired,
		Abandoned: o.Abandoned, Highest: int(o.Highest), Waited: time.Duration(o.Waited) * unit, Ready: o.Ready,
		Kind: "password", GracePeriod: graceUnits * unit,
	}
	if o.Failed > 0 {
		g.Failure = generator.Failure{
			Request: requestText(o.FailedFor), Number: int(o.Failed), At: o.FailedAt.time(), Times: int(o.Failures),
		}
	}
	return g
}

// with returns an object with the state that a step wants.
func (o instance) with(g generator.Generation) instance {
	o.Made, o.Flagged, o.Offered = ticksOf(g.Made), ticksOf(g.Flagged), ticksOf(g.OfferedAt)
	o.Adopted, o.Retired, o.Abandoned, o.Highest = g.Adopted, g.Retired, g.Abandoned, uint8(g.Highest)
	o.Waited = uint8(g.Waited / unit)
	for i, s := range specTexts {
		if s == g.SpecHash {
			o.Spec = uint8(i)
		}
	}
	for i, r := range rotationTexts {
		if r == g.Rotation {
			o.Rotation = uint8(i)
		}
	}
	o.Failed, o.FailedFor, o.FailedAt, o.Failures = 0, 0, never, 0
	if f := g.Failure; f.Number > 0 {
		o.Failed, o.FailedFor, o.FailedAt, o.Failures = uint8(f.Number), requestTexts[f.Request], ticksOf(f.At), uint8(min(f.Times, 2))
	}
	o.WasAdopted = o.WasAdopted || o.Adopted
	o.WasAbandoned = o.WasAbandoned || o.Abandoned
	return o
}
