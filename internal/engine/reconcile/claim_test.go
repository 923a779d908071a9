package reconcile_test

import (
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// The author of a cluster scoped composite can write the claim of another namespace into it. Nothing is read or written
// in that namespace.
func TestClaimOfAnotherComposite(t *testing.T) {
	const (
		composite = "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, " +
			"spec: {claimRef: {apiVersion: example.org/v1, kind: AppClaim, namespace: kube-system, name: app}}}"
		others = "cluster: [{apiVersion: example.org/v1, kind: AppClaim, metadata: {namespace: kube-system, name: app}, " +
			"spec: {resourceRef: {apiVersion: example.org/v1, kind: App, name: other}}}]"
		want = "AppClaim kube-system/app, which the composite's spec.claimRef names, is not its claim"
	)
	for name, input := range map[string]string{
		"Source": "sources: [{name: a, apiVersion: v1, kind: ConfigMap}]\nconfigMaps: [{name: s, metadata: " +
			"{namespace: team}, data: [{key: k, value: sources.a.data.k}]}]",
		"Export":     `secrets: [{name: s, data: [{key: k, value: "'v'"}]}]`,
		"Generation": "generators: [{name: a, uuid: {}}]",
		"Nothing":    `secrets: [{name: s, metadata: {namespace: team}, data: [{key: k, value: "'v'"}]}]`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(input), composite, others)
			first, err := s.call(t)
			if err != nil {
				t.Fatal(err)
			}
			s.find(first)
			if _, err := s.call(t); err == nil || err.Error() != want {
				t.Errorf("want %q, got %v", want, err)
			}
		})
	}
}
