package live_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/desk/pages"
	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// The identity of the workflow that signs releases, and its issuer.
const (
	githubIssuer    = "https://token.actions.githubusercontent.com"
	releaseWorkflow = "https://github.com/crossplane-contrib/function-export/.github/workflows/release.yml@refs/"
)

// The ImageConfigs of the operator's guide.
const (
	keylessConfig = "function-export-signed"
	keyConfig     = "function-export-signed-by-us"
	mirrorConfig  = "function-export-mirror"
)

// A delivery is a package in the registry, and what Crossplane must do with it.
type delivery struct {
	reason string

	// repository and tag of the package in the registry. Names are below the repositories that ImageConfigs match.
	repository, tag string

	// source is the name that the Function has for the package, if it is not the name in the registry.
	source string

	// steps prepare the package. REF is the repository in the registry, and the package is at REF:v1.
	steps []string

	// refused is part of the message if Crossplane must refuse the package.
	refused string

	// config is the ImageConfig that must have verified the package, if Crossplane must install it.
	config string
}

// signedDeliveries are packages with right, wrong, and no signatures. The first half is signed with certificates, as
// releases are, and the second half with keys.
func signedDeliveries() map[string]delivery {
	release := "sign OURS REF:v1 -issuer " + githubIssuer + " -identity " + releaseWorkflow + "tags/v0.1.0"

	return map[string]delivery{
		"signed-release": {
			reason:     "the release workflow signed it at a tag",
			repository: "signed/release", steps: []string{release}, config: keylessConfig,
		},
		"signed-never": {
			reason:     "a package without a signature is refused",
			repository: "signed/never", refused: "no signatures found",
		},
		"signed-tampered": {
			reason:     "another package at the same tag has no signature",
			repository: "signed/tampered", steps: []string{release, "change REF:v1 REF:v1"}, refused: "no signatures found",
		},
		"signed-moved": {
			reason:     "a signature names the digest that it is for",
			repository: "signed/moved", tag: "v2", steps: []string{release, "change REF:v1 REF:v2", "move REF:v1 REF:v2"},
			refused: "invalid or missing digest in claim",
		},
		"signed-on-main": {
			reason:     "a push to main is not a release",
			repository: "signed/main", steps: []string{strings.Replace(release, "tags/v0.1.0", "heads/main", 1)},
			refused: "none of the expected identities matched",
		},
		"signed-in-fork": {
			reason:     "a fork has the same workflow",
			repository: "signed/fork", steps: []string{strings.Replace(release, "crossplane-contrib", "someone", 1)},
			refused: "none of the expected identities matched",
		},
		"signed-lookalike": {
			reason:     "a dot of the pattern matches only a dot",
			repository: "signed/lookalike", steps: []string{strings.Replace(release, "github.com", "githubxcom", 1)},
			refused: "none of the expected identities matched",
		},
		"signed-by-issuer": {
			reason:     "another issuer can give anyone the same name",
			repository: "signed/issuer", steps: []string{strings.Replace(release, githubIssuer, "https://issuer.example.org", 1)},
			refused: "none of the expected identities matched",
		},
		"signed-elsewhere": {
			reason:     "the certificate comes from another Sigstore",
			repository: "signed/elsewhere", steps: []string{strings.Replace(release, "OURS", "THEIRS", 1)}, refused: "log public key not found",
		},
		"signed-unlogged": {
			reason:     "the signature is not in the transparency log",
			repository: "signed/unlogged", steps: []string{release + " -unlogged"}, refused: "rekor client not provided",
		},
		"signed-mirrored": {
			reason:     "Crossplane compares prefixes with the name in the mirror",
			repository: "signed/mirror", source: "registry.example.org/verified-mirror/function-export:v1", refused: "no signatures found",
		},
		"keyed-ours": {
			reason:     "our key signed it",
			repository: "keyed/ours", steps: []string{"sign OURS REF:v1 -key ours"}, config: keyConfig,
		},
		"keyed-never": {
			reason:     "a package without a signature is refused",
			repository: "keyed/never", refused: "no signatures found",
		},
		"keyed-theirs": {
			reason:     "another key signed it",
			repository: "keyed/theirs", steps: []string{"sign OURS REF:v1 -key theirs"}, refused: "comparing public key",
		},
		"keyed-tampered": {
			reason:     "a signature names the digest that it is for",
			repository: "keyed/tampered", tag: "v2",
			steps:   []string{"sign OURS REF:v1 -key ours", "change REF:v1 REF:v2", "move REF:v1 REF:v2"},
			refused: "invalid or missing digest in claim",
		},
		"keyed-unlogged": {
			reason:     "Crossplane wants the transparency log also with a key",
			repository: "keyed/unlogged", steps: []string{"sign OURS REF:v1 -key ours -unlogged"}, refused: "rekor client not provided",
		},
		"open-never":    {reason: "no ImageConfig matches it", repository: "open/never"},
		"open-tampered": {reason: "no ImageConfig matches it", repository: "open/tampered", steps: []string{release, "change REF:v1 REF:v1"}},
		"open-mirrored": {
			reason:     "no prefix of an ImageConfig with a verification matches the name in the mirror, so nothing is verified",
			repository: "mirror/function-export", source: "xpkg.crossplane.io/crossplane-contrib/function-export:v1",
		},
	}
}

// TestSigned installs packages while Crossplane verifies signatures. The ImageConfigs are those of the operator's guide,
// with the registry of this test. In place of the public Sigstore, Crossplane trusts one that belongs to this test.
// Without the ImageConfigs, Crossplane installs the packages that it refused.
func TestSigned(t *testing.T) {
	s := newSigning(t)
	deliveries := signedDeliveries()

	for name, d := range deliveries {
		if err := s.push(t.Context(), d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}

	s.trust(t)

	restore, err := plane.RestartCrossplane(t.Context(), "--enable-signature-verification")
	t.Cleanup(func() { restoreCrossplane(t, restore) })

	if err != nil {
		t.Fatal(err)
	}

	configs := s.configure(t)

	for name, d := range deliveries {
		s.install(t, name, d)
	}

	for name, d := range deliveries {
		if err := s.settles(t.Context(), name, d); err != nil {
			t.Errorf("%s, because %s: %v", name, d.reason, err)
		}
	}

	if t.Failed() {
		return
	}

	// Each refusal is because of an ImageConfig, and of nothing else.
	for _, c := range configs {
		if err := plane.Delete(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}

	for name, d := range deliveries {
		if d.refused == "" {
			continue
		}

		d.refused = ""

		if err := s.settles(t.Context(), name, d); err != nil {
			t.Errorf("%s, without ImageConfigs: %v", name, err)
		}
	}
}

// A signing has what TestSigned needs to sign packages.
type signing struct {
	program          string // signs packages
	sigstore, theirs string // folders of two Sigstores
	base             string // a package, to make others from
}

func newSigning(t *testing.T) signing {
	t.Helper()

	programs, err := e2e.BuildControlPlane(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}

	peers, err := e2e.BuildPeers(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	s := signing{
		program: programs.Sigstore, sigstore: filepath.Join(dir, "ours"), theirs: filepath.Join(dir, "theirs"),
		base: plane.RegistryAddress + "/base/function-signed:v1",
	}

	for _, sigstore := range []string{s.sigstore, s.theirs} {
		if err := command(t.Context(), root, s.program, "init", sigstore); err != nil {
			t.Fatal(err)
		}
	}

	source, xpkg := filepath.Join(dir, "package"), filepath.Join(dir, "package.xpkg")
	if err := os.Mkdir(source, 0o700); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(source, "crossplane.yaml"), fmt.Appendf(nil, packageOf, "function-signed"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{{"xpkg", "build", "-f", source, "-o", xpkg}, {"xpkg", "push", "-f", xpkg, s.base}} {
		if err := command(t.Context(), root, peers.CLI, args...); err != nil {
			t.Fatal(err)
		}
	}

	return s
}

// trust makes Crossplane trust the Sigstore of this test. Crossplane keeps the keys of Sigstore in its cache of packages,
// and gets them from the public Sigstore if they are not there.
func (s signing) trust(t *testing.T) {
	t.Helper()

	cache := filepath.Join(state("xpkg-cache"), ".sigstore")
	t.Cleanup(func() { _ = os.RemoveAll(cache) }) // the whole state is deleted at the end

	if err := os.CopyFS(filepath.Join(cache, "root"), os.DirFS(filepath.Join(s.sigstore, "root"))); err != nil {
		t.Fatal(err)
	}
}

// push pushes the package of a delivery. Its bytes differ from those of all other packages.
func (s signing) push(ctx context.Context, d delivery) error {
	names := strings.NewReplacer("OURS", s.sigstore, "THEIRS", s.theirs, "REF", plane.RegistryAddress+"/"+d.repository, "BASE", s.base)

	for _, step := range append([]string{"change BASE REF:v1"}, d.steps...) {
		if err := command(ctx, root, s.program, strings.Fields(names.Replace(step))...); err != nil {
			return err
		}
	}

	return nil
}

// configure applies the ImageConfigs of the operator's guide, and returns those that verify signatures. They match the
// repositories of this test, in addition to those in the guide.
func (s signing) configure(t *testing.T) (verifying []live.Ref) {
	t.Helper()

	public, err := os.ReadFile(filepath.Join(s.sigstore, "ours.pub"))
	if err != nil {
		t.Fatal(err)
	}

	guide := guideConfigs(t)
	registry := plane.RegistryAddress

	match(t, guide[keylessConfig], registry+"/signed/")
	match(t, guide[keyConfig], registry+"/keyed/")
	rewrite(t, guide[mirrorConfig], registry+"/mirror/function-export")

	verified := guide[mirrorConfig].DeepCopy()
	verified.SetName(mirrorConfig + "-verified")
	_ = unstructured.SetNestedSlice(verified.Object, nil, "spec", "matchImages")
	match(t, verified, "registry.example.org/verified-mirror/function-export")
	rewrite(t, verified, registry+"/signed/mirror")

	authority := nested(t, guide[keyConfig], "spec", "verification", "cosign", "authorities")
	secret, _, _ := unstructured.NestedStringMap(authority[0].(map[string]any), "key", "secretRef")

	all := []*unstructured.Unstructured{guide[keylessConfig], guide[keyConfig], guide[mirrorConfig], verified, {Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": secret["name"], "namespace": "crossplane-system"},
		"stringData": map[string]any{secret["key"]: string(public)},
	}}}

	for _, o := range all {
		if err := plane.ApplyObject(t.Context(), o); err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { remove(t, live.RefOf(o)) })
	}

	return []live.Ref{live.RefOf(guide[keylessConfig]), live.RefOf(guide[keyConfig])}
}

// guideConfigs returns the ImageConfigs that the operator's guide shows.
func guideConfigs(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()

	all, err := pages.Read(root)
	if err != nil {
		t.Fatal(err)
	}

	found := map[string]*unstructured.Unstructured{}

	for _, p := range all {
		for _, b := range p.Blocks {
			if p.Path != "package/README.md" || b.Lang != "yaml" || b.Output {
				continue
			}

			objects, err := live.Parse(b.Text)
			if err != nil {
				t.Fatal(err)
			}

			for _, o := range objects {
				if o.GetKind() == "ImageConfig" {
					found[o.GetName()] = o
				}
			}
		}
	}

	for _, want := range []string{keylessConfig, keyConfig, mirrorConfig} {
		if found[want] == nil {
			t.Fatalf("package/README.md has no ImageConfig named %s", want)
		}
	}

	return found
}

func nested(t *testing.T, o *unstructured.Unstructured, path ...string) []any {
	t.Helper()

	list, _, err := unstructured.NestedSlice(o.Object, path...)
	if err != nil {
		t.Fatal(err)
	}

	return list
}

// match adds a prefix to the images that an ImageConfig matches.
func match(t *testing.T, config *unstructured.Unstructured, prefix string) {
	t.Helper()

	images := append(nested(t, config, "spec", "matchImages"), map[string]any{"type": "Prefix", "prefix": prefix})
	if err := unstructured.SetNestedSlice(config.Object, images, "spec", "matchImages"); err != nil {
		t.Fatal(err)
	}
}

// rewrite replaces the name of the mirror in an ImageConfig.
func rewrite(t *testing.T, config *unstructured.Unstructured, mirror string) {
	t.Helper()

	if err := unstructured.SetNestedField(config.Object, mirror, "spec", "rewriteImage", "prefix"); err != nil {
		t.Fatal(err)
	}
}

// remove deletes an object, also if the context of the test has ended.
func remove(t *testing.T, r live.Ref) {
	t.Helper()

	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()

	if err := plane.Delete(ctx, r); err != nil && !live.IsNotFound(err) {
		t.Error(err)
	}
}

// install creates a Function for a delivery. Because of its pull policy, Crossplane verifies the package each time. With
// the default policy, it uses the copy in its cache, and then the status no longer says that it was verified.
func (s signing) install(t *testing.T, name string, d delivery) {
	t.Helper()

	tag := d.tag
	if tag == "" {
		tag = "v1"
	}

	source := d.source
	if source == "" {
		source = plane.RegistryAddress + "/" + d.repository + ":" + tag
	}

	t.Cleanup(func() { remove(t, functionNamed(name)) })

	if err := plane.Apply(t.Context(), fmt.Sprintf(`{apiVersion: pkg.crossplane.io/v1, kind: Function, metadata: {name: %s},
spec: {package: %q, packagePullPolicy: Always}}`, name, source)); err != nil {
		t.Fatal(err)
	}
}

func functionNamed(name string) live.Ref {
	return live.Ref{APIVersion: "pkg.crossplane.io/v1", Kind: "Function", Name: name}
}

// settles waits until Crossplane has installed a package, or has refused it for the right reason.
func (s signing) settles(ctx context.Context, name string, d delivery) error {
	tries := 0

	return eventually(ctx, 2*time.Minute, name, func() error {
		// A change makes Crossplane try again at once, instead of after a delay that grows.
		tries++
		if err := plane.Patch(ctx, functionNamed(name), fmt.Sprintf(`{"metadata": {"annotations": {"live": "%d"}}}`, tries)); err != nil {
			return err
		}

		o, err := plane.Get(ctx, functionNamed(name))
		if err != nil {
			return err
		}

		revisions, err := plane.List(ctx, "pkg.crossplane.io/v1", "FunctionRevision", "", "pkg.crossplane.io/package="+name)
		if err != nil {
			return err
		}

		return d.check(o, len(revisions))
	})
}

// check compares a Function and the number of its revisions with what Crossplane must do.
func (d delivery) check(o *unstructured.Unstructured, revisions int) error {
	installed := live.ConditionOf(o, "Installed")

	if d.refused != "" {
		if revisions > 0 {
			return brokenf("Crossplane installed it")
		}

		if installed.Status != "False" || !strings.Contains(installed.Message, "signature verification failed") || !strings.Contains(installed.Message, d.refused) {
			return fmt.Errorf("want Installed to be False because of %q, got %+v", d.refused, installed)
		}

		return nil
	}

	if installed.Status != "True" || revisions != 1 {
		return fmt.Errorf("want one revision, got %d, and %+v", revisions, installed)
	}

	applied, _, _ := unstructured.NestedSlice(o.Object, "status", "appliedImageConfigRefs")
	verified := slices.ContainsFunc(applied, func(a any) bool {
		m, _ := a.(map[string]any)

		return m["reason"] == "VerifyImage" && (d.config == "" || m["name"] == d.config)
	})

	if verified != (d.config != "") {
		return errors.New("want status.appliedImageConfigRefs to name the ImageConfig that verified it, and no other")
	}

	return nil
}
