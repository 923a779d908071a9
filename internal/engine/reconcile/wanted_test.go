package reconcile

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// The ID of a generation depends on the generator and the number. The manifest that is common to all generations has an ID of zeros.
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
	if got := s.generationID(user, 0); got != "0000000000" {
		t.Errorf("generationID(...) of the common manifest: want zeros, got %s", got)
	}
	if s.generationID(user, 2) == s.generationID(user, 1) || s.generationID(named, 1) == s.generationID(user, 1) {
		t.Error("generationID(...): two generations have one ID")
	}
}

// A certificate is renewed before it expires, and at once if its CA changes. It can be used until it expires.
func TestRenewal(t *testing.T) {
	l := newLimited(t, `
generators:
- {name: leaf, refreshPolicy: OnChange, certificate: {ca: root, dnsNames: [a.b], duration: 48h, renewBefore: 24h}}
- {name: root, refreshPolicy: OnChange, certificate: {isCA: true, subject: {commonName: root}, duration: 480h, renewBefore: 24h}}`, nil)
	now := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
	generated := func(name string, issuer *credential.Issuer) *generation {
		t.Helper()
		kind := l.plan.Generator(name).Makes.(*plan.Computed) //nolint:forcetypeassert // a certificate is computed
		outputs, err := kind.Make(credential.From{Random: rand.Reader, Now: now, Issuer: issuer})
		if err != nil {
			t.Fatal(err)
		}
		return &generation{details: revealed(outputs)}
	}
	root, another := generated("root", nil), generated("root", nil)
	issuer, err := credential.ParseIssuer(root.data())
	if err != nil {
		t.Fatal(err)
	}
	leaf := generated("leaf", issuer)
	broken := &generation{details: observation.Details{"tls.crt": []byte("made-up")}}
	w := &wantedGeneration{Generator: l.plan.Generator("leaf")}
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
			got := w.validity(tc.k, tc.ca, now)
			if !got.Renew.Equal(tc.at) || !got.Ends.Equal(tc.ends) {
				t.Errorf("validity(...): %s: want %s and %s, got %v", tc.reason, tc.at, tc.ends, got)
			}
		})
	}
}
