package reconcile

import (
	"fmt"
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A generation is an object that looks like a generation. A verifier decides whether it is one.
type generation struct {
	generator.Record

	object   wire.Struct
	details  observation.Details // its outputs, or its connection details
	salt     []byte              // of a derived generation, in addition to its outputs
	composed string              // composition resource name
	hides    string              // the export whose composition resource name it has, because its annotation was changed
	listed   bool                // the composite lists it as one of its resources
	changed  bool                // another client changed or removed its state
	lost     bool                // its state is unknown

	// sealed is set if its state must have a seal: this function computes each generation as an immutable Secret, and its
	// state cannot say that it is a resource, because any client can write that.
	sealed bool

	madeFrom string // the hash of its input, as the object states it
	withheld error  // why its connection details cannot be used, or nil
}

// id returns the UID, which differs from that of an earlier object with the same name.
func (k *generation) id() string {
	if uid := plan.UIDOf(k.object); uid != "" {
		return uid
	}
	_, _, ns, name := object.Identity(k.object) // of a file
	return ns + "/" + name
}

// reference identifies the generation, even after it is deleted.
func (k *generation) reference() generator.Reference {
	out := generator.Reference{Generation: k.Number, UID: k.id()}
	out.APIVersion, out.Kind, out.Namespace, out.Name = object.Identity(k.object)
	return out
}

// data returns the whole data of a generation: its outputs, and its salt if it has one.
func (k *generation) data() generator.Outputs {
	out := generator.Outputs{}
	for key, v := range k.details {
		out[key] = sensitive.New(v)
	}
	if k.salt != nil {
		out[generator.SaltKey] = sensitive.New(k.salt)
	}
	return out
}

// A verifier decides which of the objects that look like a generation are generations.
type verifier struct {
	*session
	*histories

	req *request
}

// verify decides which objects of a history are generations.
func (a verifier) verify(h *history) (generator.Trust, generator.Known) {
	claims := make([]generator.Claim, len(h.generations))
	for i, k := range h.generations {
		claims[i] = a.claim(h, k)
	}
	known := h.record.known(a.accepted)
	return generator.Trusted(claims, known), known
}

// claim returns what an object states about itself.
func (a verifier) claim(h *history, k *generation) generator.Claim {
	out := generator.Claim{
		Number: k.Number, UID: k.id(), Listed: k.listed, Whole: a.complete(h.generator, k),
		Adopted: k.Adopted, Flagged: !k.Flagged.IsZero() && !k.Retired, Lost: k.lost,
	}
	for _, f := range k.Follows[:min(len(k.Follows), 2*limits.Generations)] {
		out.Follows = append(out.Follows, f.UID)
	}
	if isV1Secret(k.object) {
		out.Proves = func(former string) bool { return h.proves(k, former) }
	}
	return out
}

// complete reports whether an object has everything that a step creates.
func (a verifier) complete(m *plan.Generator, k *generation) bool {
	if isFile := plan.UIDOf(k.object) == ""; !a.controls(k.object) && !isFile || k.Surplus {
		return false
	}
	if !isV1Secret(k.object) {
		return k.listed || recentlyCreated(k.object, a.req.Now)
	}
	switch made := m != nil && m.IsComputed(); {
	case !made:
		return true
	case !object.IsImmutable(k.object) || len(k.details) == 0:
		return false
	case !k.lost: // it has the outputs of its input, which may have changed
		return true
	}
	return len(k.details) == len(m.Keys) && !lacksKeys(k, m.Keys) && (k.salt != nil) == (m.Source() != nil)
}

// recentlyCreated reports whether the composite may list an object once Crossplane reads it again.
func recentlyCreated(o wire.Struct, now time.Time) bool {
	created := createdAt(o)
	return created.IsZero() || now.Before(created.Add(limits.UnlistedFor))
}

// createdAt returns when an object was created, or zero if that is unknown.
func createdAt(o wire.Struct) time.Time {
	at, _ := time.Parse(time.RFC3339, plan.MetadataOf(o).Get("creationTimestamp").Text())
	return at.UTC()
}

func lacksKeys(k *generation, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return k.details[key] == nil })
}

// proves reports whether a generation carries a code keyed with the value of a former one.
func (h *history) proves(k *generation, former string) bool {
	for _, key := range h.keysOf(former) {
		code := generator.Code(key, k.Number, codedData(k))
		isCode := func(c string) bool { return generator.Equal(c, code) }
		if slices.ContainsFunc(k.Follows, func(f generator.Followed) bool { return slices.ContainsFunc(f.Codes, isCode) }) {
			return true
		}
	}
	return false
}

// keysOf returns the possible keys of the code of a generation's successor: its own data, or after it
// is deleted the data of the exports that use it.
func (h *history) keysOf(uid string) []generator.Outputs {
	for _, k := range h.generations {
		if k.id() == uid && len(k.details) > 0 {
			return []generator.Outputs{k.data()}
		}
	}
	return h.recordedKeys(uid)
}

func (h *history) recordedKeys(uid string) []generator.Outputs {
	if h.record == nil {
		return nil
	}
	return h.record.keys[uid]
}

// codedData returns the data of a code. The data of a resource is unknown when the code is computed.
func codedData(k *generation) generator.Outputs {
	if k.Kind == plan.KindResource {
		return nil
	}
	return k.data()
}

func (r *recorded) known(accepted map[string]bool) generator.Known {
	out := generator.Known{Recorded: map[string]int{}, Former: map[string]bool{}, Accepted: accepted}
	if r == nil {
		return out
	}
	for uid, ref := range r.used {
		out.Recorded[uid] = ref.Generation
	}
	for uid := range r.former {
		out.Former[uid] = true
	}
	return out
}

// findGeneration returns the generation with a number, or nil. Numbers start at 1, so 0 means none.
func findGeneration(list []*generation, number int) *generation {
	i := slices.IndexFunc(list, func(k *generation) bool { return k.Number == number })
	if i < 0 {
		return nil
	}
	return list[i]
}

// trust verifies all generations. It fails if the composite may list more of them once Crossplane reads it
// again, because a list that is written now would lose the others.
func (a verifier) trust() (map[string]*trusted, reply, error) {
	out := map[string]*trusted{}
	var told reply
	var stale wire.Struct
	for _, name := range plan.SortedKeys(a.byGenerator) {
		t, unlisted, others := a.trustOne(a.byGenerator[name])
		out[name] = t
		told.others = append(told.others, others...)
		if unlisted.Exists() {
			stale = unlisted
		}
	}
	for _, name := range plan.SortedKeys(a.byGenerator) {
		if h := a.byGenerator[name]; h.record == nil && h.unlisted.Exists() && recentlyCreated(h.unlisted, a.req.Now) {
			stale = h.unlisted
		}
	}
	if !stale.Exists() || len(a.missingLookUps) > 0 {
		return out, told, nil
	}
	return nil, reply{}, staleBefore(stale)
}

func (k *generation) unproven() *generation {
	out := *k
	out.Unproven, out.Surplus = true, k.Surplus || !k.listed
	return &out
}

// trustOne verifies the generations of a generator. stale is an object that the composite may list soon.
func (a verifier) trustOne(h *history) (out *trusted, stale wire.Struct, others []Outcome) {
	out = &trusted{history: h, generations: h.generations}
	trust, known := a.verify(h)
	if c := trust.Impostor; c != nil {
		out.impostor = findGeneration(h.generations, c.Number)
		if _, recorded := known.Recorded[c.UID]; recorded && recentlyCreated(out.impostor.object, a.req.Now) {
			stale = out.impostor.object
		}
		return out, stale, nil
	}
	out.generations = nil
	unknown := len(trust.Proven)+len(known.Recorded) == 0
	for _, k := range h.generations {
		switch {
		case trust.Proven[k.id()]:
			now := *k
			now.Surplus = false // another client may have written it
			k = &now
			out.proven = append(out.proven, k)
		case !k.listed && unknown && a.complete(h.generator, k) && recentlyCreated(k.object, a.req.Now):
			stale = k.object
			continue
		case !k.listed && isV1Secret(k.object):
			continue // it is not touched
		case k.listed:
			k = k.unproven()
			others = append(others, unprovenOutcome(k))
		default:
			k = k.unproven()
		}
		if !k.Surplus || !k.listed {
			out.generations = append(out.generations, k)
		}
	}
	return out, stale, append(others, lostStates(out.proven, h.record)...)
}

// unprovenOutcome warns that the composite lists an object that is not proven to be a generation.
func unprovenOutcome(k *generation) Outcome {
	ref, end := k.reference(), "It is kept for the grace period, and then deleted"
	if k.Surplus {
		end = "It is no longer desired"
	}
	return Outcome{Warn: true, Message: fmt.Sprintf(
		"generator %q: %s %s/%s with UID %s is not used, because it does not prove that it is generation %d: "+
			"another client created or changed it. %s",
		k.Generator, ref.Kind, ref.Namespace, ref.Name, ref.UID, k.Number, end)}
}

// staleBefore returns the error for an object that the composite may list once Crossplane reads it again.
func staleBefore(o wire.Struct) *Stale {
	_, kind, ns, name := object.Identity(o)
	return &Stale{fmt.Sprintf("%s %s/%s is controlled by the composite, and the composite does not list it. "+
		"If it was just created, the next reconcile sees that. Otherwise delete it", kind, ns, name)}
}
