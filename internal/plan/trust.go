package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// acceptAnnotation of a composite names the UIDs of objects that its owner accepts as
// generations: after a restore they are other objects than those that exports recorded.
const acceptAnnotation = object.StatePrefix + "accept-generation"

func (r *run) accepted() map[string]bool {
	out := map[string]bool{}
	text := metadataOf(r.Observation.Composite.Object).At("annotations", acceptAnnotation).Text()
	for uid := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' }) {
		out[uid] = true
	}
	return out
}

// A Stale error says that Crossplane reads the composite as it was before it created an
// object. Nothing may be changed until it reads it anew.
type Stale struct{ Message string }

// Error says what the composite does not list.
func (s *Stale) Error() string { return s.Message }

// trust finds the generations among what looks like one. m is nil for a generator that
// left the input.
func (g *generating) trust(name string, m *maker) {
	have := g.have[name]
	trust, known := g.assess(name, m)
	if c := trust.Impostor; c != nil {
		k := g.find(name, c.Number)
		if _, recorded := known.Recorded[c.UID]; recorded && young(k.object, g.Now) {
			g.stale = k.object
		}
		g.impostors[name] = k
		return
	}
	var rest []*kept
	for _, k := range have {
		proven := trust.Proven[k.id()]
		k.Unproven = !proven
		switch {
		case proven:
			g.proven[name] = append(g.proven[name], k)
		case k.listed:
			g.tellUnproven(k)
		case len(trust.Proven)+len(known.Recorded) == 0 && g.whole(m, k) && young(k.object, g.Now):
			g.stale = k.object
			continue
		case isSecretObject(k):
			continue // it is left alone
		default:
			k.Surplus = true
		}
		rest = append(rest, k)
	}
	g.have[name] = slices.DeleteFunc(rest, func(k *kept) bool { return k.Surplus && k.listed })
}

// assess what looks like a generation.
func (g *generating) assess(name string, m *maker) (generator.Trust, generator.Known) {
	claims := make([]generator.Claim, len(g.have[name]))
	for i, k := range g.have[name] {
		claims[i] = g.claim(m, k)
	}
	known := g.records[name].known(g.accepted())
	return generator.Trusted(claims, known), known
}

// claim is what an object says of itself.
func (g *generating) claim(m *maker, k *kept) generator.Claim {
	out := generator.Claim{
		Number: k.Number, UID: k.id(), Listed: k.listed, Whole: g.whole(m, k),
		Adopted: k.Adopted, Flagged: !k.Flagged.IsZero() && !k.Retired, Lost: k.lost,
	}
	for _, f := range k.Follows[:min(len(k.Follows), 2*limits.Generations)] {
		out.Follows = append(out.Follows, f.UID)
	}
	if isSecretObject(k) {
		out.Proves = func(former string) bool { return g.proves(k, former) }
	}
	return out
}

func isSecretObject(k *kept) bool { return isV1Secret(k.object) }

func isV1Secret(o wire.Struct) bool {
	apiVersion, kind, _, _ := object.Identity(o)
	return apiVersion == "v1" && kind == string(object.Secret)
}

// proves reports whether a generation carries a code keyed with the value of a former one.
func (g *generating) proves(k *kept, former string) bool {
	for _, f := range k.Follows {
		if f.UID != former {
			continue
		}
		for _, key := range g.keysOf(k.Generator, former) {
			code := generator.Code(key, k.Number, codedData(k))
			if slices.ContainsFunc(f.Codes, func(c string) bool { return generator.Equal(c, code) }) {
				return true
			}
		}
	}
	return false
}

// codedData is what a code is bound to. That of a resource is not known when it is made.
func codedData(k *kept) generator.Outputs {
	if k.Kind == kindResource {
		return nil
	}
	return k.outputs()
}

// keysOf a generation are what its successor's code can be keyed with: its own data, or when
// it is gone the data of the exports that use it.
func (g *generating) keysOf(name, uid string) []generator.Outputs {
	if k := g.byID[name+"/"+uid]; k != nil && len(k.details) > 0 {
		return []generator.Outputs{k.outputs()}
	}
	if rec := g.records[name]; rec != nil {
		return rec.keys[uid]
	}
	return nil
}

// follows are the generations that a new one follows, each with its codes.
func (g *generating) follows(name string, number int, data generator.Outputs, coded bool) []generator.Followed {
	var out []generator.Followed
	add := func(ref generator.Reference) {
		f := generator.Followed{Reference: ref}
		keys := g.keysOf(name, ref.UID)
		if rec := g.records[name]; rec != nil { // the former one may be gone when the code is read
			keys = append(slices.Clone(keys), rec.keys[ref.UID]...)
		}
		for _, key := range keys {
			if code := generator.Code(key, number, data); coded && !slices.Contains(f.Codes, code) {
				f.Codes = append(f.Codes, code)
			}
		}
		out = append(out, f)
	}
	for _, k := range g.proven[name] {
		add(k.reference())
	}
	if len(g.proven[name]) == 0 {
		if ref := g.lastKnown(name); ref.Name != "" && ref.UID == "" { // its name is all that is known
			out = append(out, generator.Followed{Reference: ref})
		}
	}
	if ref := g.records[name].highest(); ref.UID != "" && !slices.ContainsFunc(g.proven[name], func(k *kept) bool { return k.id() == ref.UID }) {
		add(ref)
	}
	return out
}

// whole reports whether an object is what a step makes.
func (g *generating) whole(m *maker, k *kept) bool {
	_, own := g.owned(k.object)
	if isFile := metadataOf(k.object).Get("uid").Text() == ""; !own && !isFile || k.Surplus {
		return false
	}
	switch {
	case !isSecretObject(k):
		return k.listed || young(k.object, g.Now)
	case m == nil || m.compute == nil:
		return true
	case !object.IsImmutable(k.object) || len(k.details) == 0:
		return false
	case !k.lost && k.Kind != m.kind: // it has the outputs of another kind
		return true
	}
	return len(k.details) == len(m.keys) && !slices.ContainsFunc(m.keys, func(key string) bool { return k.details[key] == nil })
}

// tellUnproven says that the composite lists an object that nothing shows to be a generation.
func (g *generating) tellUnproven(k *kept) {
	ref := k.reference()
	g.out.Others = append(g.out.Others, Outcome{Warn: true, Message: fmt.Sprintf(
		"generator %q: %s %s/%s with UID %s is not used, because it does not prove that it is generation %d: somebody else made or changed it. "+
			"It is kept for the grace period, and then deleted", k.Generator, ref.Kind, ref.Namespace, ref.Name, ref.UID, k.Number)})
}

// conflict says which object has the number of the generation in use.
func (g *generating) conflict(what, name string) Outcome {
	k := g.impostors[name]
	ref := g.records[name].highest()
	at := k.reference()
	if at.UID == ref.UID {
		return Outcome{State: Conflict, Warn: true, Message: fmt.Sprintf(
			"%s: exports use generation %d, which is %s %s/%s, and the composite does not list it. "+
				"Set the annotation %s: %s on the composite to use it", what, k.Number, at.Kind, at.Namespace, at.Name, acceptAnnotation, at.UID)}
	}
	return Outcome{State: Conflict, Warn: true, Message: fmt.Sprintf(
		"%s: %s %s/%s is not the generation %d that exports use: it has UID %s, and not %s. "+
			"If it was restored from a backup, set the annotation %s: %s on the composite to use it. Otherwise delete it, and another generation is made",
		what, at.Kind, at.Namespace, at.Name, k.Number, at.UID, ref.UID, acceptAnnotation, at.UID)}
}

// isStale reports whether the composite may list more as soon as Crossplane reads it anew. A
// list that is written now would forget what is not on it.
func (g *generating) isStale() error {
	o := g.stale
	for _, name := range sortedKeys(g.unlisted) {
		if g.records[name] == nil && young(g.unlisted[name], g.Now) {
			o = g.unlisted[name]
		}
	}
	if !o.Exists() || len(g.unread) > 0 {
		return nil
	}
	_, kind, ns, name := object.Identity(o)
	return &Stale{fmt.Sprintf("%s %s/%s is controlled by the composite, and the composite does not list it. "+
		"If it was just created, the next reconcile sees that. Otherwise delete it", kind, ns, name)}
}

// lostList says that the composite lists nothing of a generator whose values an export has:
// somebody took its list away, or made the export.
func (g *generating) lostList(s *stepping) Outcome {
	_, kind, ns, name := object.Identity(g.unlisted[s.name])
	return Outcome{State: Conflict, Warn: true, Message: fmt.Sprintf(
		"%s: %s %s/%s has values of a generation, and the composite lists neither. If both were restored from a backup, set the annotation %s on the composite "+
			"to the UID of the generation to use it. Otherwise delete the %[2]s, and another generation is made", s, kind, ns, name, acceptAnnotation)}
}
