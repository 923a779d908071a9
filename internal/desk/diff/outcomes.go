package diff

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// kinds are the effects of states that are worse than before.
var kinds = map[reconcile.State]Kind{ //nolint:gochecknoglobals // a table
	reconcile.Created: Waiting, reconcile.Waiting: Waiting, reconcile.Held: Held, reconcile.Conflict: Conflict,
}

// outcomes adds what is refused, held, in conflict, or waits, unless it is so now.
func (d *comparison) outcomes() {
	d.calibrate()
	if fatal := world.FatalOf(d.after.Response); fatal != "" {
		if fatal != world.FatalOf(d.before.Response) {
			d.add(Effect{Kind: fatalKind(d.after.Response), Reason: fatal})
		}
		return
	}
	if refused := d.after.Invalid; refused != nil &&
		(d.before.Invalid == nil || d.before.Invalid.Error() != refused.Error()) {
		why := strings.ReplaceAll(refused.Error(), "|", " ")
		d.add(Effect{Kind: Refused, Reason: "the API server refuses an object: " + why})
	}
	d.states()
	if d.before.pipeline != nil && d.before.isReady() && !d.after.isReady() {
		d.add(Effect{Kind: ReadinessLost, Reason: "the composite is not ready until this is resolved"})
	}
}

// states adds the exports, generators and fields whose state is worse than with the Composition in use.
func (d *comparison) states() {
	for name, o := range d.after.states {
		if kind := kinds[o.State]; kind != "" && d.before.stateOf(name, o) != o.State {
			e := Effect{Kind: kind, Export: o.Export, Reason: short(o.Message)}
			if o.Place.Name != "" {
				e.Object = &state.Ref{APIVersion: "v1", Kind: string(o.Kind), Namespace: o.Place.Namespace, Name: o.Place.Name}
			}
			d.add(e)
		}
	}
	said, says := d.before.others(), d.after.others()
	for _, message := range slices.Sorted(maps.Keys(says)) {
		if said[message] == "" {
			d.add(Effect{Kind: says[message], Reason: message})
		}
	}
}

// calibrate adds that the rehearsal differs from the cluster: the exports are ready, but rehearsed with the Composition
// in use, they are not. Then something is not known, for example what another step passes.
func (d *comparison) calibrate() {
	ready := object.Condition(wire.Of(d.first.XR), outcome.ConditionType).Get("status").Is("True")
	why := world.FatalOf(d.before.Response)
	for _, o := range d.before.states {
		if o.State >= reconcile.Waiting && !o.Ready {
			why = max(why, fmt.Sprintf("%s %s: %s", o.Kind, o.Place, short(o.Message))) // one of them
		}
	}
	if ready && why != "" {
		d.add(Effect{Kind: Unknown, Reason: "the exports are ready, but rehearsed with the Composition in use, they are " +
			"not: " + why + ": add what it names to the state, or pass --functions if another step decides it"})
	}
}

// fatalKind returns the effect of a fatal result.
func fatalKind(rsp *fnv1.RunFunctionResponse) Kind {
	for _, c := range rsp.GetConditions() {
		for s, kind := range kinds {
			if c.GetReason() == s.String() {
				return kind
			}
		}
	}
	return Refused
}

// stateOf returns the state of an object, whatever export has it. Without a place, it is the state of the export.
func (s *side) stateOf(export string, o reconcile.Object) reconcile.State {
	if o.Place.Name == "" {
		return s.states[export].State
	}
	for _, other := range s.states {
		if other.Place == o.Place {
			return other.State
		}
	}
	return reconcile.Available
}

// others returns the effects of generators, the environment and status fields that are not available, by message.
func (s *side) others() map[string]Kind {
	out := map[string]Kind{}
	for _, result := range s.Results {
		for _, o := range result.Others {
			out[o.Message] = kinds[o.State]
		}
		for _, o := range result.Status {
			out[o.Message] = kinds[o.State]
		}
	}
	maps.DeleteFunc(out, func(message string, kind Kind) bool { return message == "" || kind == "" })
	return out
}

// isReady reports whether this function lets the composite be ready.
func (s *side) isReady() bool {
	ready := world.FatalOf(s.Response) == "" && s.Response.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_FALSE
	for name, r := range s.Response.GetDesired().GetResources() {
		_, other := s.Earlier.GetResources()[name]
		ready = ready && (other || r.GetReady() == fnv1.Ready_READY_TRUE)
	}
	return ready
}

// lead begins the message about an object, which the effect names.
var lead = lazy.MustCompile(`^(?:Secret|ConfigMap) "[^"]*"(?: \([^)]*\))?` +
	`(?:(?: is not created| is kept unchanged)?:)? `)

func short(message string) string { return strings.TrimPrefix(message, lead().FindString(message)) }

// reads adds the objects that were not read before. Objects of the composite itself are none of them.
func (d *comparison) reads() {
	for _, name := range slices.Sorted(maps.Keys(d.after.Required)) { // a name has all that is required
		s := d.after.Required[name]
		r := state.Selected(s)
		if d.before.Required[name] != nil || d.isOwn(r) {
			continue
		}
		rule, installed := inspect.RuleOf(plan.Kind{APIVersion: r.APIVersion, Kind: r.Kind}, nil)
		reason := "Crossplane's default role permits that"
		if !installed {
			reason = fmt.Sprintf("Crossplane needs the rights get, list and watch for %s of %s", rule.Resource, rule.APIGroup)
		}
		if labels := s.GetMatchLabels().GetLabels(); len(labels) > 0 {
			reason = fmt.Sprintf("with the labels %v; %s", plan.SortedKeys(labels), reason)
		}
		d.add(Effect{Kind: Reads, Object: &r, Reason: reason})
	}
}

// isOwn reports whether an object is, or may become, an export or a generation of the composite.
func (d *comparison) isOwn(r state.Ref) bool {
	at := lifecycle.PlaceOf(r.APIVersion, r.Kind, r.Namespace, r.Name)
	for _, s := range []*side{d.before, d.after} {
		if _, own := s.own[r.Key()]; own {
			return true
		}
		for _, o := range s.states {
			if o.Place.Kind == at.Kind && o.Place.Name == at.Name { // in whatever namespace it is wanted
				return true
			}
		}
		if s.pipeline != nil && s.pipeline.isGeneration(d.composite.Name, r.Name) {
			return true
		}
	}
	return false
}

// isGeneration reports whether a name is one that generations of a composite have.
func (p *Pipeline) isGeneration(composite, name string) bool {
	for g := range p.Generators() {
		rest, is := strings.CutPrefix(name, composite+"-"+plan.ObjectName(g)+"-")
		if _, err := strconv.Atoi(rest[strings.LastIndexByte(rest, '-')+1:]); is && err == nil {
			return true
		}
	}
	return false
}
