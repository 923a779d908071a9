package function_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// spec replaces the spec of the composite.
func spec(t *testing.T, c *functiontest.ControlPlane, text string) {
	t.Helper()
	c.XR.Fields["spec"] = structpb.NewStructValue(functiontest.Parse(t, text))
}

// namesOf returns the alternative names of the certificate in a Secret.
func namesOf(t *testing.T, c *functiontest.ControlPlane, secret string) []string {
	t.Helper()
	block, _ := pem.Decode([]byte(c.Value(secret, "tls.crt")))
	if block == nil {
		t.Fatalf("%s has no certificate", secret)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	out := slices.Concat([]string{cert.Subject.CommonName}, cert.DNSNames, cert.EmailAddresses)
	for _, ip := range cert.IPAddresses {
		out = append(out, ip.String())
	}
	for _, u := range cert.URIs {
		out = append(out, u.String())
	}
	return out
}

func reconcileFor(c *functiontest.ControlPlane, times int) {
	for range times {
		c.Now = c.Now.Add(time.Minute)
		c.Reconcile()
	}
}

// A certificate has the names that the composite has, and follows them.
func TestParametersOfCertificate(t *testing.T) {
	for policy, fields := range map[string]string{"OnChange": "", "Periodic": ", refreshInterval: 8760h"} {
		t.Run(policy, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, fmt.Sprintf(`
generators:
- name: server
  refreshPolicy: %s%s
  gracePeriod: 24h
  labelsExpression: "{'app': composite.metadata.name}"
  certificate:
    subject: {commonNameExpression: composite.metadata.name}
    dnsNamesExpression: "[composite.metadata.name + '.' + composite.metadata.namespace + '.svc'] + composite.spec.hosts"
    ipAddressesExpression: composite.spec.ips
    urisExpression: "['spiffe://example.org/' + composite.metadata.name]"
    emailAddressesExpression: composite.spec.?owners.orValue([])
    durationExpression: composite.spec.duration
secrets: [{name: tls, dataFrom: [{extract: {key: generated.server}}]}]`, policy, "\n  "+strings.TrimPrefix(fields, ", ")))
			spec(t, c, `{hosts: [a.example.org], ips: [10.0.0.1], owners: [db@example.org], duration: 2160h}`)
			reconcileFor(c, 5)
			want := []string{"shop", "shop.team-a.svc", "a.example.org", "db@example.org", "10.0.0.1", "spiffe://example.org/shop"}
			if diff := cmp.Diff(want, namesOf(t, c, "shop-tls")); diff != "" {
				t.Fatalf("names: -want, +got:\n%s", diff)
			}
			if got := world.Meta(c.Stored["v1|Secret|team-a|shop-server-1"], "labels", "app"); got != "shop" {
				t.Errorf("label of the generation: want shop, got %q", got)
			}
			before := c.Value("shop-tls", "tls.key")
			reconcileFor(c, 5)
			if c.Value("shop-tls", "tls.key") != before {
				t.Error("it was renewed although nothing changed")
			}

			for name, tc := range map[string]struct{ spec, state, says string }{
				"Missing": {`{ips: [10.0.0.1], duration: 2160h}`, "Waiting", "it waits for composite.spec.hosts"},
				"Invalid": {
					`{hosts: [b.example.org, a_b], ips: [10.0.0.1], duration: 2160h}`, "Held",
					"generators[0].certificate.dnsNamesExpression: item 2 of its value: is not a DNS name",
				},
				"Short": {`{hosts: [], ips: [10.0.0.1], duration: 3s}`, "Held", "generators[0].certificate.durationExpression: its value: must be from 1h"},
				"Break": {
					`{hosts: ["composite.spec"], ips: ["a\nb"], duration: 2160h}`, "Held",
					"generators[0].certificate.ipAddressesExpression: item 0 of its value: is not an IP address",
				},
				"Type": {`{hosts: [], ips: [10], duration: 2160h}`, "Held", "generators[0].certificate.ipAddressesExpression: item 0 of its value: must be a string"},
			} {
				spec(t, c, tc.spec)
				reconcileFor(c, 3)
				if got := c.Condition(); !strings.Contains(got, tc.state) || !strings.Contains(got, tc.says) {
					t.Errorf("%s: want %s and %q, got %s", name, tc.state, tc.says, got)
				}
				if c.Value("shop-tls", "tls.key") != before {
					t.Errorf("%s: the certificate changed", name)
				}
			}

			spec(t, c, `{hosts: [b.example.org], ips: [], duration: 2160h}`)
			reconcileFor(c, 5)
			want = []string{"shop", "shop.team-a.svc", "b.example.org", "spiffe://example.org/shop"}
			if diff := cmp.Diff(want, namesOf(t, c, "shop-tls")); diff != "" {
				t.Errorf("names after the change: -want, +got:\n%s", diff)
			}
		})
	}
}

// A literal with the value of an expression changes nothing.
func TestParametersAreAsLiterals(t *testing.T) {
	const rest = ", symbols: 0, digits: 2}}]\nsecrets: [{name: s, data: [{key: k, value: generated.admin.password}]}]"
	const refresh = "generators: [{name: admin, refreshPolicy: OnChange, password: {"
	c := functiontest.NewControlPlane(t, refresh+"lengthExpression: composite.spec.length, prefixExpression: composite.spec.team + '-'"+rest)
	spec(t, c, `{length: 12, team: red}`)
	reconcileFor(c, 4)
	was := c.Value("shop-s", "k")
	if len(was) != len("red-")+12 || !strings.HasPrefix(was, "red-") {
		t.Fatalf("want red- and 12 characters, got %d", len(was))
	}
	c.SetInput(refresh + "length: 12, prefix: red-" + rest)
	reconcileFor(c, 4)
	if c.Value("shop-s", "k") != was {
		t.Error("the password was rotated, although its specification is the same")
	}
	c.SetInput(refresh + "length: 13, prefix: red-" + rest)
	reconcileFor(c, 4)
	if got := c.Value("shop-s", "k"); got == was || len(got) != len(was)+1 {
		t.Error("want another password")
	}
}

// A grace period that becomes unknown or invalid in the middle of a rotation is the one that was known.
func TestParameterLostInRotation(t *testing.T) {
	for _, grace := range []string{"", "grace: -1h", "grace: null", "grace: 24"} {
		for reconciles := range 4 {
			c := functiontest.NewControlPlane(t, `
generators:
- {name: admin, refreshPolicy: OnChange, keepersExpression: composite.spec.version, gracePeriodExpression: composite.spec.grace, password: {}}
secrets: [{name: s, data: [{key: k, value: generated.admin.password}]}]`)
			spec(t, c, `{version: 1, grace: 24h}`)
			reconcileFor(c, 4)
			spec(t, c, `{version: 2, grace: 24h}`)
			reconcileFor(c, reconciles)
			spec(t, c, `{version: 2, `+grace+`}`)
			reconcileFor(c, 20)
			if !strings.Contains(c.Names(), "shop-admin-1") {
				t.Errorf("%q after %d reconciles: the former generation is deleted at once: %s", grace, reconciles, c.Names())
			}
		}
	}
}
