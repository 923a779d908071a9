// Package forecast continues a composite with a simulated clock, and says what time alone does to it: rotations, grace
// periods that end, and certificates that expire.
//
// Only time acts: no input changes, and a provider makes each new generation that is a composed resource work at
// once, with what it reported of the one before. A generation that a readyExpression verifies may stay pending, because
// it is unknown what its service answers.
package forecast

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Kind says what happens.
type Kind string

// The kinds of events.
const (
	Rotates  Kind = "rotates"  // the next generation is created
	Retires  Kind = "retires"  // a former generation is deleted, because its grace period is over
	Abandons Kind = "abandons" // a generation is deleted that never worked
	Expires  Kind = "expires"  // an exported certificate is not valid anymore
)

// An Event is what happens at a time.
type Event struct {
	At         time.Time `json:"at"`
	Kind       Kind      `json:"effect"`
	Object     string    `json:"object"`              // the generation, or the object with the certificate
	Generator  string    `json:"generator,omitempty"` // of a generation
	Generation int       `json:"generation,omitempty"`
	Key        string    `json:"key,omitempty"` // of a certificate
}

// mostMoments is how often something may be due. A password that rotates each hour is due so often in four weeks.
const mostMoments = 1500

// A Player plays a simulation. It says when a function acts next although nothing has changed, or zero.
type Player interface {
	Settle(ctx context.Context) error
	Due() time.Time
}

// Of returns what happens to a composite that has settled until a time, in this order. It is complete up to the time
// that it returns, which is earlier if very much happens, or if enough is true for an event; enough may be nil. The
// simulation goes on.
func Of(
	ctx context.Context, w *world.World, p Player, until time.Time, enough func(Event) bool,
) (out []Event, complete time.Time, err error) {
	told := map[string]bool{} // certificates
	for _, c := range certificates(w) {
		told[c.id] = c.ends.Before(w.Now)
	}
	for range mostMoments {
		next := due(w, p, told)
		if next.IsZero() || next.After(until) {
			return out, until, nil
		}
		if next.After(w.Now) {
			w.Now = next
		}
		at, before := w.Now, maps.Clone(w.Stored)
		if err := settle(ctx, w, p, before); err != nil {
			return out, at, err
		}
		out = append(out, changes(before, w.Stored, at)...)
		for _, c := range certificates(w) {
			if !c.ends.After(at) && !told[c.id] {
				told[c.id] = true
				out = append(out, Event{At: c.ends.UTC(), Kind: Expires, Object: state.RefOf(c.object).String(), Key: c.key})
			}
		}
		if enough != nil && slices.ContainsFunc(out, enough) {
			break
		}
	}
	return out, w.Now, nil
}

// due returns when something is due, or zero.
func due(w *world.World, p Player, told map[string]bool) time.Time {
	next := time.Time{}
	if world.FatalOf(w.Response) == "" { // otherwise, the function would answer the same
		next = p.Due()
	}
	for _, c := range certificates(w) {
		if !told[c.id] && (next.IsZero() || c.ends.Before(next)) {
			next = c.ends
		}
	}
	return next
}

// settle plays until nothing changes. In between, each new generation works as the one before does.
func settle(ctx context.Context, w *world.World, p Player, before map[string]*structpb.Struct) error {
	if err := p.Settle(ctx); err != nil {
		return err //nolint:wrapcheck // about the composite
	}
	worked := false
	for key, o := range w.Stored {
		generator, _, isGeneration := generationOf(o)
		if before[key] != nil || !isGeneration || o.GetFields()["status"] != nil {
			continue
		}
		for former, was := range before {
			if name, _, ok := generationOf(was); ok && name == generator && was.GetFields()["status"] != nil {
				w.Edit(key, func(o *structpb.Struct) { world.SetValue(o, was.GetFields()["status"], "status") })
				w.Details[key], worked = w.Details[former], true
			}
		}
	}
	if !worked {
		return nil
	}
	return p.Settle(ctx) //nolint:wrapcheck // about the composite
}

// generationOf returns which generation an object is, by its composition resource name.
func generationOf(o *structpb.Struct) (generator string, number int, ok bool) {
	return plan.ParseGeneration(world.Meta(o, "annotations", world.ResourceNameAnnotation))
}

// changes returns which generations were created or deleted, by generator.
func changes(before, after map[string]*structpb.Struct, at time.Time) (out []Event) {
	add := func(kind Kind, o *structpb.Struct) {
		if generator, n, ok := generationOf(o); ok {
			object := state.RefOf(o).String()
			out = append(out, Event{At: at.UTC(), Kind: kind, Object: object, Generator: generator, Generation: n})
		}
	}
	for key, o := range after {
		if before[key] == nil {
			add(Rotates, o)
		}
	}
	for key, o := range before {
		if after[key] != nil {
			continue
		}
		kind := Retires
		if s, _ := seal.ReadState(wire.Of(o)); s.State.Stage == rotation.Abandoned {
			kind = Abandons
		}
		add(kind, o)
	}
	slices.SortFunc(out, func(a, b Event) int {
		return cmp.Or(strings.Compare(a.Generator, b.Generator), b.Generation-a.Generation) // created before deleted
	})
	return out
}

// A certificate is an exported one.
type certificate struct {
	object *structpb.Struct
	key    string
	id     string // with its text
	ends   time.Time
}

// certificates returns those in composed Secrets, in the order of names and keys. Of a chain, it is the first.
func certificates(w *world.World) (out []certificate) {
	for _, name := range slices.Sorted(maps.Keys(w.Stored)) {
		o := w.Stored[name]
		isComposed := world.Meta(o, "annotations", world.ResourceNameAnnotation) != ""
		if _, _, isGeneration := generationOf(o); isGeneration || !isComposed {
			continue
		}
		for key, v := range wire.Of(o).Get("data").Struct().All() {
			text := v.Text()
			b, _ := base64.StdEncoding.DecodeString(text)
			block, _ := pem.Decode(b)
			if block == nil || block.Type != "CERTIFICATE" {
				continue
			}
			if c, err := x509.ParseCertificate(block.Bytes); err == nil {
				out = append(out, certificate{o, key, name + "|" + key + "|" + text, c.NotAfter})
			}
		}
	}
	return out
}
