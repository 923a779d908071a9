package live_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// followedNames is a certificate with the name of the composite's Service, and the names that the composite has.
const followedNames = `
generators:
- name: server
  certificate:
    subject: {commonNameExpression: composite.metadata.name}
    dnsNamesExpression: "[composite.metadata.name + '.' + composite.metadata.namespace + '.svc'] + composite.spec.users.map(u, u.name)"
  refreshPolicy: OnChange
  gracePeriod: 1h
secrets:
- name: tls
  type: kubernetes.io/tls
  dataFrom: [{extract: {key: generated.server}}]
`

// A certificate follows the names of its composite. While they are missing or invalid, it is kept.
func followsNames(ctx context.Context, s scenario) error {
	hosts := func(names string) func() error {
		return func() error { return s.applyApp(ctx, "users: ["+names+"]") }
	}
	return first(
		func() error { return s.open(ctx, "App", followedNames) },
		hosts("{name: a.example.org}"),
		func() error { return s.certified(ctx, "a.example.org") },
		func() error { return s.unchangedBy(ctx, 5) },
		hosts("{name: a_b}"),
		func() error { return s.stillReady(ctx, "Held", "dnsNamesExpression: item 1 of its value") },
		func() error { return s.certified(ctx, "a.example.org") },
		func() error { return s.applyApp(ctx) },
		func() error { return s.stillReady(ctx, "Waiting", "composite.spec.users") },
		func() error { return s.certified(ctx, "a.example.org") },
		hosts("{name: b.example.org}"),
		func() error { return s.certified(ctx, "b.example.org") },
		func() error { return s.says(ctx, s.app(), "Available") },
	)
}

// stillReady waits until ExportsReady has a reason and a text. The composite stays ready, because its certificate is in
// use.
func (s scenario) stillReady(ctx context.Context, reason, text string) error {
	return eventually(ctx, soon, reason, func() error {
		o, err := s.Get(ctx, s.app())
		if err != nil {
			return err
		}
		exports, ready := live.ConditionOf(o, "ExportsReady"), live.ConditionOf(o, "Ready")
		if exports.Reason != reason || !strings.Contains(exports.Message, text) || ready.Status != "True" {
			return fmt.Errorf("ExportsReady is %+v, Ready is %+v", exports, ready)
		}
		return nil
	})
}

// certified waits until the certificate is for the Service and another name.
func (s scenario) certified(ctx context.Context, name string) error {
	want := []string{"app." + s.ns + ".svc", name}
	return eventually(ctx, soon, "a certificate for "+name, func() error {
		data, err := s.data(ctx, "Secret", "app-tls")
		if err != nil {
			return err
		}
		block, _ := pem.Decode([]byte(data["tls.crt"]))
		if block == nil {
			return fmt.Errorf("there is no certificate")
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err == nil && !slices.Equal(cert.DNSNames, want) {
			err = fmt.Errorf("it is for %v", cert.DNSNames)
		}
		return err
	})
}
