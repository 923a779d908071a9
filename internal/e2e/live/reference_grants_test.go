package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// gatewayAPI is the module with the CRD of ReferenceGrant. It is the first release that serves v1.
const gatewayAPI = "sigs.k8s.io/gateway-api@v1.5.0"

// grantInput exports a Secret of the namespace of another owner. Both its name and its key are optional.
const grantInput = `
requireGrants: true
sources: [{name: ca, apiVersion: v1, kind: Secret, namespace: %s, optional: true}]
secrets: [{name: trust, metadata: {namespace: %s}, data: [{key: ca, value: "secrets.?ca.?ca", optional: true}, {key: always, value: "'there'"}]}]
`

// hostileGrants permit other references than that of an App of the namespace NS to the Secret ca.
var hostileGrants = []string{
	`from: [{group: live.example.org, kind: App, namespace: NS-owner}], to: [{group: "", kind: Secret}]`,
	`from: [{group: live.example.org, kind: App, namespace: default}], to: [{group: "", kind: Secret, name: ca}]`,
	`from: [{group: live.example.org, kind: Site, namespace: NS}], to: [{group: "", kind: Secret}]`,
	`from: [{group: live.example.org, kind: Order, namespace: NS}], to: [{group: "", kind: Secret}]`,
	`from: [{group: live.example.com, kind: App, namespace: NS}], to: [{group: "", kind: Secret}]`,
	`from: [{group: "", kind: App, namespace: NS}], to: [{group: "", kind: Secret}]`,
	`from: [{group: live.example.org, kind: App, namespace: NS}], to: [{group: "", kind: ConfigMap}]`,
	`from: [{group: live.example.org, kind: App, namespace: NS}], to: [{group: v1, kind: Secret}]`,
	`from: [{group: live.example.org, kind: App, namespace: NS}], to: [{group: "", kind: Secret, name: cb}]`,
	`from: [{group: live.example.org, kind: App, namespace: NS}], to: [{group: "", kind: Secrets}]`,
}

// TestReferenceGrants gives, takes and gives consent to read a Secret of another namespace. Without it, Crossplane
// never reads the Secret: the audit log of the API server has each read.
func TestReferenceGrants(t *testing.T) {
	if err := stage(); err != nil {
		t.Fatalf("%v\n%s", err, events(""))
	}

	ns := "live-grants"
	g := granted{scenario: scenario{ControlPlane: plane, function: functionName, ns: ns}, t: t, owner: ns + "-owner"}

	if err := g.play(t.Context()); err != nil {
		t.Errorf("%v\n%s", err, events(ns))
	}
}

// granted is a scenario with the namespace of another owner.
type granted struct {
	scenario

	t     *testing.T
	owner string
}

func (g granted) play(ctx context.Context) error {
	before, after, later := hush(), hush(), hush()
	exported := func(value string) error {
		return g.becomes(ctx, "Secret", "app-trust", map[string]string{"always": "there", "ca": value})
	}

	return first(
		func() error { return g.open(ctx, "App", fmt.Sprintf(grantInput, g.owner, g.ns)) },
		func() error { return g.Apply(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: "+g.owner+"}}") },
		func() error { return g.source(ctx, before) },
		func() error { return g.applyApp(ctx) },
		func() error { return g.says(ctx, g.app(), "Waiting", "does not serve gateway.networking.k8s.io/v1") },
		func() error { return g.permitCrossplane(ctx) },
		func() error { return g.applyCRD(ctx) },
		func() error { return g.says(ctx, g.app(), "Waiting", "no ReferenceGrant in namespace") },
		func() error { return g.attack(ctx) },
		func() error { return g.absent(ctx, g.core("Secret", "app-trust")) },
		func() error { return g.reads(0, 0) },

		func() error { return g.grant(ctx, "") },
		func() error { return exported(before) },
		func() error { return g.source(ctx, after) },
		func() error { return exported(after) },
		func() error { return g.says(ctx, g.app(), "Available") },

		func() error { return g.revoke(ctx, "removed", func() error { return g.Delete(ctx, g.ref("valid")) }) },
		func() error { return g.unread(ctx, later) },
		func() error { return exported(after) },
		func() error { return g.grant(ctx, "finalizers: [live.example.org/stays], ") },
		func() error { return exported(later) },
		func() error {
			return g.revoke(ctx, "marked for deletion", func() error { return g.Delete(ctx, g.ref("valid")) })
		},
		func() error { return g.unread(ctx, before) },
		func() error { return exported(later) },
		func() error { return g.Patch(ctx, g.ref("valid"), `{"metadata": {"finalizers": null}}`) },
		func() error { return g.claims(ctx) },
	)
}

func (g granted) ref(name string) live.Ref {
	return live.Ref{APIVersion: "gateway.networking.k8s.io/v1", Kind: "ReferenceGrant", Namespace: g.owner, Name: name}
}

// source writes the Secret of the owner.
func (g granted) source(ctx context.Context, value string) error {
	other := g.scenario
	other.ns = g.owner

	return other.write(ctx, "Secret", "ca", map[string]string{"ca": value})
}

// permitCrossplane applies the ClusterRole that explain prints.
func (g granted) permitCrossplane(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "run", "./fn", "explain", "example/reference-grants/composition.yaml")
	cmd.Dir = root

	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cannot explain: %w", err)
	}

	role := regexp.MustCompile(`(?s)  apiVersion: rbac.*?\n\n`).FindString(string(out))

	return g.Apply(ctx, regexp.MustCompile(`(?m)^  `).ReplaceAllString(role, ""))
}

func (g granted) applyCRD(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", gatewayAPI)
	cmd.Dir = g.t.TempDir()

	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cannot download %s: %w", gatewayAPI, err)
	}

	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}

	crd, err := os.ReadFile(filepath.Join(module.Dir, "config", "crd", "standard", "gateway.networking.k8s.io_referencegrants.yaml"))
	if err != nil {
		return err
	}

	return g.Apply(ctx, string(crd))
}

// attack applies grants for others, one after another and all together. Other Secrets of the namespaces change
// meanwhile.
func (g granted) attack(ctx context.Context) error {
	for i, spec := range hostileGrants {
		text := fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: hostile-%d, namespace: %s}, spec: {%s}}", i, g.owner, spec)

		err := eventually(ctx, soon, "the kind", func() error { return g.Apply(ctx, strings.ReplaceAll(text, "NS", g.ns)) })
		if err != nil {
			return err
		}

		if err := g.force(ctx, g.app(), 1); err != nil {
			return err
		}
	}

	return g.says(ctx, g.app(), "Waiting", "no ReferenceGrant in namespace")
}

// grant applies the grant that the condition shows.
func (g granted) grant(ctx context.Context, metadata string) error {
	o, err := g.Get(ctx, g.app())
	if err != nil {
		return err
	}

	text := regexp.MustCompile(`\{apiVersion: .*\}\}`).FindString(live.ConditionOf(o, "ExportsReady").Message)
	text = regexp.MustCompile(`metadata: \{name: "[^"]*", `).ReplaceAllString(text, `metadata: {name: valid, `+metadata)

	return g.Apply(ctx, text)
}

// revoke takes the consent, and prints the time until the export is held.
func (g granted) revoke(ctx context.Context, how string, do func() error) error {
	if err := do(); err != nil {
		return err
	}

	start := time.Now()
	err := g.says(ctx, g.app(), "Held", "no ReferenceGrant in namespace")
	g.t.Logf("the export was held %s after the grant was %s", time.Since(start).Round(time.Millisecond), how)

	return err
}

// unread changes the source without consent. Crossplane must not read it again.
func (g granted) unread(ctx context.Context, value string) error {
	was, err := g.Reads(g.owner)
	if err != nil {
		return err
	}

	return first(
		func() error { return g.source(ctx, value) },
		func() error { return g.force(ctx, g.app(), 5) },
		func() error { return g.reads(len(was), len(was)) },
	)
}

// reads checks how often Crossplane has read Secrets of the owner's namespace.
func (g granted) reads(least, most int) error {
	all, err := g.Reads(g.owner)
	if err == nil && (len(all) < least || len(all) > most) {
		err = brokenf("Crossplane has read Secrets of %s %d times, not %d to %d times: %v", g.owner, len(all), least, most, all)
	}

	return err
}

// claims checks composites without a namespace of their own: one has that of its claim, and the other one is refused.
func (g granted) claims(ctx context.Context) error {
	other := g.scenario
	other.ns = g.ns + "-claim"
	claim := live.Ref{APIVersion: group, Kind: "Order", Namespace: other.ns, Name: "order"}
	sites := g.scenario
	sites.ns = g.ns + "-site"
	was := 0

	return first(
		func() error {
			all, err := g.Reads(g.owner)
			was = len(all)

			return err
		},
		func() error { return other.open(ctx, "XOrder", fmt.Sprintf(grantInput, g.owner, other.ns)) },
		func() error {
			return g.Apply(ctx, fmt.Sprintf(`{apiVersion: %s, kind: Order, metadata: {name: order, namespace: %s},
  spec: {size: small, compositionRef: {name: %[2]s}}}`, group, other.ns))
		},
		func() error { return g.says(ctx, claim, "Waiting", `kind: "XOrder", namespace: "`+other.ns+`"`) },
		func() error { return sites.input(ctx, "Site", fmt.Sprintf(grantInput, g.owner, g.ns)) },
		func() error {
			return g.Apply(ctx, fmt.Sprintf("{apiVersion: %s, kind: Site, metadata: {name: %s}, spec: {crossplane: {compositionRef: {name: %[2]s}}}}", group, sites.ns))
		},
		func() error { return sites.refused(ctx) },
		func() error { return g.reads(was, was) },
		func() error {
			return g.Apply(ctx, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: claim, namespace: %s}, `+
				`spec: {from: [{group: live.example.org, kind: XOrder, namespace: %s}], to: [{group: "", kind: Secret, name: ca}]}}`, g.owner, other.ns))
		},
		func() error { return g.says(ctx, claim, "Available") },
		func() error { return g.reads(was+1, was+100) },
	)
}

// refused waits until a Site is refused because it has no namespace.
func (s scenario) refused(ctx context.Context) error {
	return eventually(ctx, soon, "the refusal", func() error {
		o, err := s.Get(ctx, live.Ref{APIVersion: group, Kind: "Site", Name: s.ns})
		if err != nil {
			return err
		}

		if c := live.ConditionOf(o, "ExportsReady"); c.Reason != "InvalidInput" || !strings.Contains(c.Message, "is cluster scoped and has no claim") {
			return fmt.Errorf("ExportsReady is %+v", c)
		}

		return nil
	})
}
