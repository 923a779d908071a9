package live_test

import (
	"context"
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
)

// A delivery is a package in the registry, and what Crossplane must do with it.
type delivery struct {
	reason string

	// repository of the package in the registry, at the tag v1. Names are below the repositories that ImageConfigs
	// match.
	repository string

	// sign is the command that signs the package, which is REF.
	sign string

	// refused is part of the message if Crossplane must refuse the package.
	refused string

	// config is the ImageConfig that must have verified the package, if Crossplane must install it.
	config string
}

// signedDeliveries are packages with right, wrong, and no signatures, made with certificates, as releases are, or keys.
func signedDeliveries() map[string]delivery {
	release := "sign SIGSTORE REF -issuer " + githubIssuer + " -identity " + releaseWorkflow + "tags/v0.1.0"

	return map[string]delivery{
		"signed-release": {
			reason:     "the release workflow signed it at a tag",
			repository: "signed/release", sign: release, config: keylessConfig,
		},
		"signed-never": {
			reason:     "a package without a signature is refused",
			repository: "signed/never", refused: "no signatures found",
		},
		"signed-on-main": {
			reason:     "a push to main is not a release",
			repository: "signed/main", sign: strings.Replace(release, "tags/v0.1.0", "heads/main", 1),
			refused: "none of the expected identities matched",
		},
		"signed-in-fork": {
			reason:     "a fork has the same workflow",
			repository: "signed/fork", sign: strings.Replace(release, "crossplane-contrib", "someone", 1),
			refused: "none of the expected identities matched",
		},
		"keyed-ours": {
			reason:     "our key signed it",
			repository: "keyed/ours", sign: "sign SIGSTORE REF -key ours", config: keyConfig,
		},
		"keyed-theirs": {
			reason:     "another key signed it",
			repository: "keyed/theirs", sign: "sign SIGSTORE REF -key theirs",
			refused: "comparing public key",
		},
	}
}

// TestSigned installs packages while Crossplane verifies signatures. The ImageConfigs are those of the operator's
// guide, with the registry of this test. In place of the public Sigstore, Crossplane trusts one that belongs to this
// test. Without the ImageConfigs, Crossplane installs the packages that it refused.
func TestSigned(t *testing.T) {
	s := newSigning(t)
	deliveries := signedDeliveries()

	for _, d := range deliveries {
		s.push(d)
	}

	s.trust()
	restartCrossplane(t, "--enable-signature-verification")

	configs := s.configure()

	for name, d := range deliveries {
		s.install(name, d)
	}

	for name, d := range deliveries {
		if err := s.settles(name, d); err != nil {
			t.Errorf("%s, because %s: %v", name, d.reason, err)
		}
	}

	if t.Failed() {
		return
	}

	// Each refusal is because of an ImageConfig, and of nothing else.
	for _, c := range configs {
		s.remove(c)
	}

	for name, d := range deliveries {
		if d.refused == "" {
			continue
		}

		d.refused = ""

		if err := s.settles(name, d); err != nil {
			t.Errorf("%s, without ImageConfigs: %v", name, err)
		}
	}
}

// A signing has what TestSigned needs to sign packages.
type signing struct {
	scenario

	program  string // signs packages
	sigstore string // the folder of a Sigstore
	base     string // a package, to make others from
}

func newSigning(t *testing.T) signing {
	t.Helper()

	dir := t.TempDir()
	s := signing{
		scenario: newScenario(t, ""), sigstore: filepath.Join(dir, "ours"), base: plane.RegistryAddress +
			"/base/function-signed:v1",
	}

	programs, err := e2e.BuildControlPlane(t.Context(), func(string) {})
	s.must(err)

	peers, err := e2e.BuildPeers(t.Context(), func(string) {})
	s.must(err)

	s.program = programs.Sigstore

	s.must(command(t.Context(), root, s.program, "init", s.sigstore))

	source, xpkg := filepath.Join(dir, "package"), filepath.Join(dir, "package.xpkg")
	meta := fmt.Appendf(nil, packageOf, "function-signed")

	s.must(os.Mkdir(source, 0o700))
	s.must(os.WriteFile(filepath.Join(source, "crossplane.yaml"), meta, 0o600))
	s.must(command(t.Context(), root, peers.CLI, "xpkg", "build", "-f", source, "-o", xpkg))
	s.must(command(t.Context(), root, peers.CLI, "xpkg", "push", "-f", xpkg, s.base))

	return s
}

// trust makes Crossplane trust the Sigstore of this test. Crossplane keeps the keys of Sigstore in its cache of
// packages, and gets them from the public Sigstore if they are not there.
func (s signing) trust() {
	cache := filepath.Join(state("xpkg-cache"), ".sigstore")
	s.Cleanup(func() { _ = os.RemoveAll(cache) }) // the whole state is deleted at the end
	s.must(os.CopyFS(filepath.Join(cache, "root"), os.DirFS(filepath.Join(s.sigstore, "root"))))
}

// push pushes the package of a delivery. Its bytes differ from those of all other packages.
func (s signing) push(d delivery) {
	ref := plane.RegistryAddress + "/" + d.repository + ":v1"
	s.must(command(s.Context(), root, s.program, "change", s.base, ref))

	if d.sign != "" {
		names := strings.NewReplacer("SIGSTORE", s.sigstore, "REF", ref)
		s.must(command(s.Context(), root, s.program, strings.Fields(names.Replace(d.sign))...))
	}
}

// configure applies the ImageConfigs of the operator's guide, and returns those that verify signatures. They match the
// repositories of this test, in addition to those in the guide.
func (s signing) configure() (verifying []live.Ref) {
	public, err := os.ReadFile(filepath.Join(s.sigstore, "ours.pub"))
	s.must(err)

	guide := s.guideConfigs()
	match := func(config, prefix string) {
		o := guide[config].Object
		images, _, _ := unstructured.NestedSlice(o, "spec", "matchImages")
		images = append(images, map[string]any{"type": "Prefix", "prefix": plane.RegistryAddress + prefix})
		s.must(unstructured.SetNestedSlice(o, images, "spec", "matchImages"))
	}

	match(keylessConfig, "/signed/")
	match(keyConfig, "/keyed/")

	authorities, _, _ := unstructured.NestedSlice(guide[keyConfig].Object, "spec", "verification", "cosign",
		"authorities")
	secret, _, _ := unstructured.NestedStringMap(authorities[0].(map[string]any), "key", "secretRef")
	key := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   map[string]any{"name": secret["name"], "namespace": "crossplane-system"},
		"stringData": map[string]any{secret["key"]: string(public)},
	}}

	for _, o := range []*unstructured.Unstructured{guide[keylessConfig], guide[keyConfig], key} {
		s.must(s.ApplyObject(s.Context(), o))
		s.deleteLater(live.RefOf(o))
	}

	return []live.Ref{live.RefOf(guide[keylessConfig]), live.RefOf(guide[keyConfig])}
}

// guideConfigs returns the ImageConfigs that the operator's guide shows.
func (s signing) guideConfigs() map[string]*unstructured.Unstructured {
	all, err := pages.Read(root)
	s.must(err)

	found := map[string]*unstructured.Unstructured{}

	for _, p := range all {
		for _, b := range p.Blocks {
			if p.Path != "package/README.md" || b.Lang != "yaml" || b.Output {
				continue
			}

			objects, err := live.Parse(b.Text)
			s.must(err)

			for _, o := range objects {
				if o.GetKind() == "ImageConfig" {
					found[o.GetName()] = o
				}
			}
		}
	}

	for _, want := range []string{keylessConfig, keyConfig} {
		if found[want] == nil {
			s.Fatalf("package/README.md has no ImageConfig named %s", want)
		}
	}

	return found
}

// deleteLater deletes an object when the test ends.
func (s signing) deleteLater(r live.Ref) {
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), time.Minute)
		defer cancel()

		if err := s.Delete(ctx, r); err != nil {
			s.Error(err)
		}
	})
}

// install creates a Function for a delivery. Because of its pull policy, Crossplane verifies the package each time.
// With the default policy, it uses the copy in its cache, and then the status no longer says that it was verified.
func (s signing) install(name string, d delivery) {
	source := plane.RegistryAddress + "/" + d.repository + ":v1"

	s.deleteLater(functionNamed(name))
	s.apply(fmt.Sprintf(`{apiVersion: pkg.crossplane.io/v1, kind: Function, metadata: {name: %s},
spec: {package: %q, packagePullPolicy: Always}}`, name, source))
}

// settles waits until Crossplane has installed a package, or has refused it for the right reason.
func (s signing) settles(name string, d delivery) error {
	tries := 0

	return eventually(s.Context(), 2*time.Minute, name, func() error {
		// A change makes Crossplane try again at once, instead of after a delay that grows.
		tries++
		s.patch(functionNamed(name), fmt.Sprintf(`{"metadata": {"annotations": {"live": "%d"}}}`, tries))

		revisions, err := s.List(s.Context(), "pkg.crossplane.io/v1", "FunctionRevision", "",
			"pkg.crossplane.io/package="+name)
		if err != nil {
			return err
		}

		return d.check(s.get(functionNamed(name)), len(revisions))
	})
}

// check compares a Function and the number of its revisions with what Crossplane must do.
func (d delivery) check(o *unstructured.Unstructured, revisions int) error {
	is := live.ConditionOf(o, "Installed")

	if d.refused != "" {
		if revisions > 0 {
			return brokenf("Crossplane installed it")
		}

		refused := is.Status == "False" && strings.Contains(is.Message, "signature verification failed")

		return wantText(refused && strings.Contains(is.Message, d.refused),
			fmt.Sprintf("want Installed to be False because of %q, got %+v", d.refused, is))
	}

	if is.Status != "True" || revisions != 1 {
		return fmt.Errorf("want one revision, got %d, and %+v", revisions, is)
	}

	applied, _, _ := unstructured.NestedSlice(o.Object, "status", "appliedImageConfigRefs")
	verified := slices.ContainsFunc(applied, func(a any) bool {
		m, _ := a.(map[string]any)

		return m["reason"] == "VerifyImage" && (d.config == "" || m["name"] == d.config)
	})

	return wantText(verified == (d.config != ""), "another ImageConfig verified it, or none")
}
