package diff

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An Event is what time alone does to a composite: a generation is created ([Rotates]) or deleted ([Retires] or
// [Abandons]), or an exported certificate [Expires].
type Event struct {
	At         time.Time `json:"at"`
	Kind       Kind      `json:"effect"`
	Object     state.Ref `json:"object"`
	Generator  string    `json:"generator,omitempty"` // of a generation
	Generation int       `json:"generation,omitempty"`
	Key        string    `json:"key,omitempty"` // of a certificate
}

// mostMoments is how often something may be due. A password that rotates each hour is due so often in four weeks.
const mostMoments = 1500

// Forecast continues a composite with a simulated clock until a time, and returns what time alone does to it, in this
// order. It is complete up to the time that it returns, which is earlier if very much happens, or if enough is true for
// an event; enough may be nil.
//
// No input changes, and a provider makes each new generation that is a composed resource work at once, with what it
// reported of the one before. A generation that a readyExpression verifies may stay pending, because it is unknown what
// its service answers.
func (e *End) Forecast(ctx context.Context, until time.Time, enough func(Event) bool) (
	out []Event, complete time.Time, err error) {
	told := map[string]bool{} // certificates
	for id, c := range e.certificates() {
		told[id] = c.At.Before(e.Now)
	}
	for range mostMoments {
		next := e.nextMoment(told)
		if next.IsZero() || next.After(until) {
			return out, until, nil
		}
		if next.After(e.Now) {
			e.Now = next
		}
		at, before := e.Now, maps.Clone(e.Stored)
		if err := e.settleWorking(ctx, before); err != nil {
			return out, at, err
		}
		events := changes(before, e.Stored, at)
		all := e.certificates()
		for _, id := range slices.Sorted(maps.Keys(all)) {
			if !all[id].At.After(at) && !told[id] {
				told[id] = true
				events = append(events, all[id])
			}
		}
		out = append(out, events...)
		if enough != nil && slices.ContainsFunc(events, enough) {
			break
		}
	}
	return out, e.Now, nil
}

// nextMoment returns when something is due, or zero.
func (e *End) nextMoment(told map[string]bool) time.Time {
	next := time.Time{}
	if world.FatalOf(e.Response) == "" { // otherwise, the function would answer the same
		next = e.Due()
	}
	for id, c := range e.certificates() {
		if !told[id] && (next.IsZero() || c.At.Before(next)) {
			next = c.At
		}
	}
	return next
}

// settleWorking plays until nothing changes. In between, each new generation works as the one before does.
func (e *End) settleWorking(ctx context.Context, before map[string]*structpb.Struct) error {
	if err := e.Settle(ctx); err != nil {
		return err
	}
	worked := false
	for key, o := range e.Stored {
		generator, _, isGeneration := plan.ParseGeneration(pipeline.NameOf(o))
		if before[key] != nil || !isGeneration || o.GetFields()["status"] != nil {
			continue
		}
		for former, was := range before {
			status := was.GetFields()["status"]
			if name, _, ok := plan.ParseGeneration(pipeline.NameOf(was)); ok && name == generator && status != nil {
				e.Edit(key, func(o *structpb.Struct) { world.SetValue(o, status, "status") })
				e.Details[key], worked = e.Details[former], true
			}
		}
	}
	if !worked {
		return nil
	}
	return e.Settle(ctx)
}

// changes returns which generations were created or deleted, by generator.
func changes(before, after map[string]*structpb.Struct, at time.Time) (out []Event) {
	for _, key := range names(before, after) {
		o, kind := after[key], Rotates
		if was := before[key]; o == nil {
			o, kind = was, Retires
			if s, _ := seal.ReadState(wire.Of(was)); s.State.Stage == rotation.Abandoned {
				kind = Abandons
			}
		} else if was != nil {
			continue
		}
		if generator, n, ok := plan.ParseGeneration(pipeline.NameOf(o)); ok {
			out = append(out, Event{At: at.UTC(), Kind: kind, Object: state.RefOf(o), Generator: generator, Generation: n})
		}
	}
	slices.SortStableFunc(out, func(a, b Event) int {
		return cmp.Or(strings.Compare(a.Generator, b.Generator), b.Generation-a.Generation) // created before deleted
	})
	return out
}

// certificates returns when the certificates in composed objects expire, by object, key and text. Of a chain, it is the
// first one.
func (e *End) certificates() map[string]Event {
	out := map[string]Event{}
	for name, o := range e.Stored {
		if pipeline.NameOf(o) == "" || pipeline.IsGeneration(o) {
			continue
		}
		for key, text := range pipeline.DataOf(o) {
			block, _ := pem.Decode([]byte(text))
			if block == nil || block.Type != "CERTIFICATE" {
				continue
			}
			if c, err := x509.ParseCertificate(block.Bytes); err == nil {
				out[name+"|"+key+"|"+text] = Event{At: c.NotAfter.UTC(), Kind: Expires, Object: state.RefOf(o), Key: key}
			}
		}
	}
	return out
}
