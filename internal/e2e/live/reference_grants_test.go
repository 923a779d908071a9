package live_test

import (
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
secrets: [{name: trust, metadata: {namespace: %s}, data: [
  {key: ca, value: "secrets.?ca.?ca", optional: true}, {key: always, value: "'there'"}]}]
`

// hostileGrants permit other references than that of an App of the namespace NS to the Secret ca.
var hostileGrants = []string{
	`from: [{group: live.example.org, kind: App, namespace: NS-owner}], to: [{group: "", kind: Secret}]`,
	`from: [{group: live.example.org, kind: Site, namespace: NS}], to: [{group: "", kind: Secret}]`,
	`from: [{group: live.example.com, kind: App, namespace: NS}], to: [{group: "", kind: Secret}]`,
	`from: [{group: live.example.org, kind: App, namespace: NS}], to: [{group: "", kind: ConfigMap}]`,
	`from: [{group: live.example.org, kind: App, namespace: NS}], to: [{group: v1, kind: Secret}]`,
	`from: [{group: live.example.org, kind: App, namespace: NS}], to: [{group: "", kind: Secret, name: cb}]`,
}

// granted is a scenario with the namespace of another owner.
type granted struct {
	scenario

	owner scenario
}

// TestReferenceGrants gives, takes and gives consent to read a Secret of another namespace. Without it, Crossplane
// never reads the Secret: the audit log of the API server has each read.
func TestReferenceGrants(t *testing.T) {
	g := granted{newScenario(t, "live-grants"), newScenario(t, "live-grants-owner")}
	before, after := hush(), hush()
	source := func(value string) { g.owner.write("Secret", "ca", map[string]string{"ca": value}) }
	exported := func(value string) {
		g.Helper()
		g.becomes("Secret", "app-trust", map[string]string{"always": "there", "ca": value})
	}

	g.open("App", fmt.Sprintf(grantInput, g.owner.ns, g.ns))
	g.apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + g.owner.ns + "}}")
	source(before)
	g.applyApp()
	g.says(g.app(), "Waiting", "does not serve gateway.networking.k8s.io/v1")
	g.permitCrossplane()
	g.applyCRD()
	g.says(g.app(), "Waiting", "no ReferenceGrant in namespace")

	for i, spec := range hostileGrants { // one after another, and all together
		g.eventually("the kind", func() error {
			return g.Apply(g.Context(), fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, "+
				"metadata: {name: hostile-%d, namespace: %s}, spec: {%s}}", i, g.owner.ns, strings.ReplaceAll(spec,
				"NS", g.ns)))
		})
		g.force(g.app(), 1)
	}

	g.says(g.app(), "Waiting", "no ReferenceGrant in namespace")
	g.absent(g.core("Secret", "app-trust"))
	g.read(0, 0)

	g.grant("")
	exported(before)
	source(after)
	exported(after)

	for _, finalizers := range []string{"", "finalizers: [live.example.org/stays], "} {
		g.grant(finalizers)
		exported(after)
		g.says(g.app(), "Available")
		g.remove(g.ref("valid")) // with a finalizer, it is only marked for deletion

		start := time.Now()
		g.says(g.app(), "Held", "no ReferenceGrant in namespace")
		t.Logf("the export was held after %s", time.Since(start).Round(time.Millisecond))

		was := g.reads()
		next := hush()

		source(next) // Crossplane must not read it again
		g.force(g.app(), 5)
		g.read(was, was)
		exported(after)

		after = next
	}

	g.patch(g.ref("valid"), `{"metadata": {"finalizers": null}}`)
	g.claims()
}

func (g granted) ref(name string) live.Ref {
	return live.Ref{
		APIVersion: "gateway.networking.k8s.io/v1", Kind: "ReferenceGrant", Namespace: g.owner.ns, Name: name,
	}
}

// permitCrossplane applies the ClusterRole that explain prints.
func (g granted) permitCrossplane() {
	cmd := exec.CommandContext(g.Context(), state("function-export"), "explain",
		"example/reference-grants/composition.yaml")
	cmd.Dir = root

	out, err := cmd.Output()
	g.must(err)

	role := regexp.MustCompile(`(?s)  apiVersion: rbac.*?(?:\n\n|$)`).FindString(string(out))
	if role == "" {
		g.Fatalf("explain prints no ClusterRole:\n%s", out)
	}

	g.apply(regexp.MustCompile(`(?m)^  `).ReplaceAllString(role, ""))
}

func (g granted) applyCRD() {
	cmd := exec.CommandContext(g.Context(), "go", "mod", "download", "-json", gatewayAPI)
	cmd.Dir = g.TempDir()

	out, err := cmd.Output()
	g.must(err)

	var module struct{ Dir string }
	g.must(json.Unmarshal(out, &module))

	folder := filepath.Join(module.Dir, "config", "crd", "standard")
	crd, err := os.ReadFile(filepath.Join(folder, "gateway.networking.k8s.io_referencegrants.yaml"))
	g.must(err)
	g.apply(string(crd))
}

// grant applies the grant that the condition shows, if it shows one.
func (g granted) grant(metadata string) {
	g.Helper()

	message := live.ConditionOf(g.get(g.app()), "ExportsReady").Message
	if text := regexp.MustCompile(`\{apiVersion: .*\}\}`).FindString(message); text != "" {
		name := regexp.MustCompile(`metadata: \{name: "[^"]*", `)
		g.apply(name.ReplaceAllString(text, `metadata: {name: valid, `+metadata))
	}
}

// reads returns how often Crossplane has read Secrets of the owner's namespace.
func (g granted) reads() int {
	all, err := g.Reads(g.owner.ns)
	g.must(err)

	return len(all)
}

func (g granted) read(least, most int) {
	g.Helper()

	if n := g.reads(); n < least || n > most {
		g.Errorf("Crossplane has read Secrets of %s %d times, not %d to %d times", g.owner.ns, n, least, most)
	}
}

// claims checks composites without a namespace of their own: one has that of its claim, and the other one is refused.
func (g granted) claims() {
	other, sites := g.scenario, g.scenario
	other.ns, sites.ns = g.ns+"-claim", g.ns+"-site"
	was := g.reads()

	other.open("XOrder", fmt.Sprintf(grantInput, g.owner.ns, other.ns))
	claim := other.applyOrder()
	g.says(claim, "Waiting", `kind: "XOrder", namespace: "`+other.ns+`"`)
	sites.input("Site", fmt.Sprintf(grantInput, g.owner.ns, g.ns))

	site := sites.applySite()
	g.eventually("the refusal", func() error {
		is := live.ConditionOf(g.get(site), "ExportsReady")
		return wantText(is.Reason == "InvalidInput" && strings.Contains(is.Message, "is cluster scoped and has no claim"),
			fmt.Sprintf("ExportsReady is %+v", is))
	})
	g.read(was, was)
	g.apply(fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, `+
		`metadata: {name: claim, namespace: %s}, spec: {from: [{group: live.example.org, kind: XOrder, namespace: `+
		`%s}], `+
		`to: [{group: "", kind: Secret, name: ca}]}}`, g.owner.ns, other.ns))
	g.says(claim, "Available")
	g.read(was+1, was+100)
}
