package diff

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
)

// secrets invent data for Secrets whose data is unknown. Two variants have other values: what differs between them
// depends on a value that is unknown.
type secrets struct {
	variant   int
	pipelines []*Pipeline
	own       map[state.Ref]bool       // exports and generations of the composite, which the rehearsal composes again
	places    map[lifecycle.Place]bool // of exports: they are no inputs
	connected map[state.Ref]bool       // connection Secrets of composed resources
	asked     map[string]bool          // whose data was invented
	aged      map[state.Ref]bool       // of the own ones, those whose age is known
}

// newSecrets returns a variant for a composite.
func newSecrets(all *state.State, c *state.Composite, variant int, pipelines ...*Pipeline) *secrets {
	out := &secrets{
		variant: variant, own: map[state.Ref]bool{}, places: map[lifecycle.Place]bool{}, connected: map[state.Ref]bool{},
		asked: map[string]bool{}, aged: map[state.Ref]bool{}, pipelines: slices.DeleteFunc(pipelines,
			func(p *Pipeline) bool { return p == nil }),
	}
	for _, r := range c.Refs() {
		if all.IsUnknown(r) {
			out.own[r] = true
		}
	}
	return out
}

// restoreAges gives objects that were composed again the time of creation of the masked ones.
func (s *secrets) restoreAges(all *state.State, e *End) {
	for key, o := range e.Stored {
		if was := all.Find(state.RefOf(o)); s.own[state.RefOf(o)] && was != nil {
			o = proto.CloneOf(o)
			world.Set(o, world.Meta(was.Struct(), "creationTimestamp"), "metadata", "creationTimestamp")
			e.Stored[key] = o
			s.aged[state.RefOf(o)] = true
		}
	}
}

// isReplayed reports whether the rehearsal begins with objects that it composes again.
func (s *secrets) isReplayed() bool { return len(s.own) > 0 }

// see learns where the exports are.
func (s *secrets) see(result *reconcile.Result) {
	for _, o := range result.Objects {
		s.places[o.Place] = true
	}
}

// Connection invents the connection details of a composed resource.
func (s *secrets) Connection(r state.Ref, keys []string) map[string][]byte {
	s.connected[r] = true
	return s.data(r, keys)
}

// Source invents a Secret that is read, or returns nil if the function only looks whether it exists.
func (s *secrets) Source(c *state.Composite, r state.Ref, keys []string) map[string][]byte {
	isGeneration := func(p *Pipeline) bool { return p.isGeneration(c.Name, r.Name) }
	place := lifecycle.PlaceOf(r.APIVersion, r.Kind, r.Namespace, r.Name)
	if s.own[r] || s.connected[r] || s.places[place] || slices.ContainsFunc(s.pipelines, isGeneration) {
		return nil
	}
	return s.data(r, keys)
}

func (s *secrets) data(r state.Ref, keys []string) map[string][]byte {
	out := map[string][]byte{}
	for _, p := range s.pipelines {
		keys = slices.Concat(keys, p.secretKeys)
	}
	for _, key := range keys {
		sum := sha256.Sum256(fmt.Append(nil, s.variant, r, key))
		// Digits are valid as a number, in a URL and in Base64.
		out[key] = fmt.Append(nil, 10_000_000+binary.BigEndian.Uint32(sum[:])%80_000_000)
	}
	s.asked[r.String()] = true
	return out
}

// decide returns the effects, with those that depend on an unknown value as Unknown. The other effects were found with
// other values in place of the unknown ones. Whether a key is added or removed does not depend on its value.
func (s *secrets) decide(effects, other []Effect) []Effect {
	reason := "cannot be known without " + strings.Join(slices.Sorted(maps.Keys(s.asked)), ", ")
	unknown := func(e Effect) Effect {
		return Effect{Kind: Unknown, Object: e.Object, Export: e.Export, Generator: e.Generator, Keys: e.Keys,
			Reason: reason}
	}
	byKey := func(list []Effect) map[string]Effect {
		out := map[string]Effect{}
		for _, e := range list {
			out[e.ofKey()] = e
		}
		return out
	}
	var out []Effect
	if slices.ContainsFunc(effects, Effect.mayDepend) { // then the readiness also depends on it
		effects = slices.DeleteFunc(effects, func(e Effect) bool { return e.Kind == ReadinessLost })
	}
	first, second := byKey(effects), byKey(other)
	for _, e := range effects {
		again, both := second[e.ofKey()]
		if !both || e.mayDepend() || e.Kind == KeysChanged && e.values != again.values {
			e = unknown(e)
		}
		out = append(out, e)
	}
	for _, e := range other {
		if _, both := first[e.ofKey()]; !both && e.Kind != ReadinessLost {
			out = append(out, unknown(e))
		}
	}
	return out
}

// ofData matches a reason about a value of a Secret, or about an expression of data.
var ofData = lazy.MustCompile(`\bsecrets\.|\.data(?:From)?\[`)

// mayDepend reports whether an export may only be held because of a value that was invented.
func (e Effect) mayDepend() bool {
	return (e.Kind == Held || e.Kind == Waiting) && ofData().MatchString(e.Reason)
}

// secretPath matches how an expression selects a value of a Secret, and name matches each name in it.
var (
	secretPath = lazy.MustCompile(`\bsecrets?(?:\.\??\w+|\[\??(?:'[^']*'|"[^"]*")\])+`)
	name       = lazy.MustCompile(`\w[-.\w]*`)
)

// secretKeys returns all names that may be keys of Secrets in the expressions of an input.
func secretKeys(input map[string]any) []string {
	text, _ := json.Marshal(input) //nolint:errchkjson // it was read from YAML
	out := map[string]bool{}
	for _, path := range secretPath().FindAllString(strings.ReplaceAll(string(text), `\"`, `"`), -1) {
		for _, part := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(`.[]'"?`, r) })[1:] {
			out[part] = true
		}
		for _, quoted := range strings.Split(path, "'") {
			if name().FindString(quoted) == quoted && quoted != "" {
				out[quoted] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(out))
}
