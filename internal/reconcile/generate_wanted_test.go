package reconcile

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
)

// The ID of a generation depends on the number and on the suffix of its name, unless the input names it. The manifest
// that is common to all generations has an ID of zeros.
func TestGenerationID(t *testing.T) {
	l := newLimited(t, `
generators:
- {name: user, resource: {manifest: {apiVersion: example.org/v1, kind: User}}}
- name: named
  resource:
    manifest: {apiVersion: example.org/v1, kind: User}
    set: [{fieldPath: metadata.name, value: "'user-%d'.format([generation.number])"}]`, nil)
	xr := composite{name: "xr", namespace: "team", uid: "u1"}
	s := newSession(t.Context(), l.plan, newRequest(&Request{}), xr, l.sees)
	user, named := l.plan.Generator("user"), l.plan.Generator("named")
	if got := s.generationID(user, 0, "xr-user-0"); got != "0000000000" {
		t.Errorf("generationID(...) of the common manifest: want zeros, got %s", got)
	}
	seen := map[string]string{}
	for _, name := range []string{"xr-user-1", "xr-user-1-abc", "xr-user-1-abd"} {
		id := s.generationID(user, 1, name)
		if former, ok := seen[id]; ok || len(id) != 10 {
			t.Errorf("generationID(...): %s has the ID %s, which %s also has", name, id, former)
		}
		seen[id] = name
	}
	if s.generationID(user, 2, "xr-user-1") == s.generationID(user, 1, "xr-user-1") {
		t.Error("generationID(...): two numbers have one ID")
	}
	if s.generationID(named, 1, "user-1") != s.generationID(named, 1, "user-1-abc") {
		t.Error("generationID(...): the ID depends on a name that the input chooses")
	}
}

// A generation is exported if an export recorded it, or may have recorded it, or if it was accepted in place of it.
func TestExportedGeneration(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		uid     string
		adopted bool
		number  int
		change  func(h *history, all *histories)
		want    bool
	}{
		"Used":       {"an export has its value", "u2", true, 2, nil, true},
		"NotUsed":    {"no export has its value", "u3", true, 3, nil, false},
		"Accepted":   {"it was restored in place of the one that exports have", "other", true, 2, accept("other"), true},
		"Restored":   {"it was not accepted", "other", true, 2, nil, false},
		"OtherOne":   {"another number was accepted", "other", true, 3, accept("other"), false},
		"NoRecord":   {"nothing is recorded", "u2", true, 2, func(h *history, _ *histories) { h.record = nil }, false},
		"Unrecorded": {"an export lost its record", "u3", true, 3, func(h *history, _ *histories) { h.unrecorded = true }, true},
		"Pending":    {"no export has a pending generation", "u3", false, 3, func(h *history, _ *histories) { h.unrecorded = true }, false},
		"Named":      {"a ConfigMap names it", "u3", true, 3, func(_ *history, all *histories) { all.named["u3"] = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history{record: &recorded{used: map[string]generator.Reference{
				"u1": {Generation: 1, UID: "u1"}, "u2": {Generation: 2, UID: "u2"},
			}}}
			all := &histories{
				byGenerator: map[string]*history{"admin": h}, named: map[string]bool{}, accepted: map[string]bool{},
			}
			if tc.change != nil {
				tc.change(h, all)
			}
			k := &generation{object: structOf(t, "{metadata: {uid: "+tc.uid+"}}")}
			k.Generator, k.Number, k.Adopted = "admin", tc.number, tc.adopted
			if got := all.exported(k); got != tc.want {
				t.Errorf("exported(...): %s: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func accept(uid string) func(*history, *histories) {
	return func(_ *history, all *histories) { all.accepted[uid] = true }
}

// A certificate is renewed before it expires, and at once if its CA changes. It can be used until it expires.
func TestRenewal(t *testing.T) {
	l := newLimited(t, `
generators:
- {name: leaf, refreshPolicy: OnChange, certificate: {ca: root, dnsNames: [a.b], duration: 48h, renewBefore: 24h}}
- {name: root, refreshPolicy: OnChange, certificate: {isCA: true, subject: {commonName: root}, duration: 480h, renewBefore: 24h}}`, nil)
	now := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
	made := func(name string, issuer *generator.Issuer) *generation {
		t.Helper()
		kind := l.plan.Generator(name).Makes.(*plan.Computed) //nolint:forcetypeassert // a certificate is computed
		outputs, err := kind.Make(generator.From{Random: rand.Reader, Now: now, Issuer: issuer, Context: t.Context()})
		if err != nil {
			t.Fatal(err)
		}
		return &generation{details: revealed(outputs)}
	}
	root, another := made("root", nil), made("root", nil)
	issuer, err := generator.ParseIssuer(root.data())
	if err != nil {
		t.Fatal(err)
	}
	leaf := made("leaf", issuer)
	broken := &generation{details: observation.Details{"tls.crt": []byte("made-up")}}
	c := l.plan.Generator("leaf").Certificate()
	for name, tc := range map[string]struct {
		reason string
		k, ca  *generation
		at     time.Time
		ends   time.Time
	}{
		"NoCA":    {"nothing signs it", leaf, nil, now.Add(24 * time.Hour), now.Add(48 * time.Hour)},
		"SameCA":  {"its CA is in use", leaf, root, now.Add(24 * time.Hour), now.Add(48 * time.Hour)},
		"OtherCA": {"another CA is in use", leaf, another, now, now},
		"Broken":  {"the CA cannot be read", leaf, broken, now.Add(24 * time.Hour), now.Add(48 * time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			at, ends := renewal(c, tc.k, tc.ca, now)
			if !at.Equal(tc.at) || !ends.Equal(tc.ends) {
				t.Errorf("renewal(...): %s: want %s and %s, got %s and %s", tc.reason, tc.at, tc.ends, at, ends)
			}
		})
	}
}
