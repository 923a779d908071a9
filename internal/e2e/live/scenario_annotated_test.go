package live_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// annotate annotates a Secret as people do it. kubectl is another field manager than Crossplane, so its annotations stay.
func (s scenario) annotate(ctx context.Context, name string, annotations ...string) error {
	programs, err := e2e.BuildControlPlane(ctx, func(string) {})
	if err != nil {
		return err
	}

	args := []string{"--kubeconfig", plane.Kubeconfig(), "--namespace", s.ns, "annotate", "--overwrite", "secret", name}
	return command(ctx, ".", programs.Kubectl, append(args, annotations...)...)
}

// A person annotates a generation and its export, edits their states, removes them, and writes an earlier one back.
func toleratesAnnotations(ctx context.Context, s scenario) error {
	const foreign, ours = "export.fn.crossplane.io/", "export.fn.crossplane.io/generator-state"

	var made map[string]string

	annotated := func(name string, annotations ...string) func() error {
		return func() error { return s.annotate(ctx, name, annotations...) }
	}
	same := func() error {
		return first(
			func() error { return s.force(ctx, s.app(), 3) },
			func() error { return s.becomes(ctx, "Secret", "app-connection", made) },
			func() error { return s.says(ctx, s.app(), "Available") },
		)
	}

	err := first(
		func() error { return s.open(ctx, "App", rotatingPassword) },
		func() error { return s.applyApp(ctx) },
		func() error { return s.says(ctx, s.app(), "Available") },
		func() (err error) {
			made, err = s.data(ctx, "Secret", "app-connection")
			return err
		},
		annotated("app-admin-1", foreign+"x=y", foreign+"rotate=admin=1", foreign+"flagged-for-gc-time=2020-01-01T00:00:00Z"),
		annotated("app-connection", foreign+"x=y", foreign+"rotate=admin=1"),
		same,
		annotated("app-admin-1", ours+"={}"),
		annotated("app-connection", foreign+"export-state={}"),
		same,
		annotated("app-admin-1", ours+"-"),
		same,
		func() error { return s.rotateOnce(ctx, 1) },
		annotated("app-connection", foreign+"export-state-"),
		func() error { return s.force(ctx, s.app(), 3) },
		func() error { return s.rotateOnce(ctx, 2) },
	)
	if err != nil {
		return err
	}

	return s.replayState(ctx, "app-admin-3", ours)
}

// replayState writes the first state of a generation back while the next one replaces it.
func (s scenario) replayState(ctx context.Context, name, annotation string) error {
	var earliest *unstructured.Unstructured

	for _, e := range film.of(s.ns) {
		if e.object.GetName() == name && earliest == nil {
			earliest = e.object
		}
	}

	if earliest == nil {
		return fmt.Errorf("nothing is known of %s", name)
	}

	before, err := s.data(ctx, "Secret", "app-connection")
	if err != nil {
		return err
	}

	var replaced time.Time

	err = first(
		func() error { return s.rotate(ctx, "admin", "replayed") },
		func() error {
			return eventually(ctx, soon, "the next value", func() error {
				got, err := s.data(ctx, "Secret", "app-connection")
				replaced = time.Now()

				return errors.Join(err, wantText(got["former-password"] == before["password"], "it is not there"))
			})
		},
		func() error { return s.annotate(ctx, name, annotation+"="+earliest.GetAnnotations()[annotation]) },
		func() error { return s.force(ctx, s.app(), 3) },
		func() error {
			return eventually(ctx, soon, "the end of the former generation", func() error {
				_, err := s.Get(ctx, s.core("Secret", name))
				return wantText(live.IsNotFound(err), "it is there")
			})
		},
	)
	if err != nil {
		return err
	}

	// The grace period can have begun a moment before the poll saw the next value.
	if kept := time.Since(replaced); kept < rotationGrace-time.Second {
		return brokenf("%s was deleted %s after the next value was exported", name, kept)
	}

	return s.says(ctx, s.app(), "Available")
}
