package live_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// A generation that cannot be stored is not exported.
func storesFirst(ctx context.Context, s scenario) error {
	if err := first(
		func() error { return s.open(ctx, "App", rotatingPassword) },
		func() error { return s.applyApp(ctx) },
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error { return s.deny(ctx, "app-admin-2") },
	); err != nil {
		return err
	}

	before, err := s.Get(ctx, s.core("Secret", "app-connection"))
	if err != nil {
		return err
	}

	same := func() error { return s.versions("app-connection", live.DataOf(before)) }

	return first(
		func() error { return s.rotate(ctx, "admin", "1") },
		func() error {
			return eventually(ctx, soon, "the refusal", func() error {
				o, err := s.Get(ctx, s.app())
				return errors.Join(same(), err, wantText(live.ConditionOf(o, "Synced").Status == "False", "there is none"))
			})
		},
		func() error { return s.force(ctx, s.app(), 3) },
		same,
		func() error { return s.untouched(ctx, before) },
		func() error {
			return s.Delete(ctx, live.Ref{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicyBinding", Name: s.ns})
		},
		func() error {
			return eventually(ctx, soon, "the rotation", func() error {
				if err := s.force(ctx, s.app(), 1); err != nil {
					return err
				}

				stored, err := s.data(ctx, "Secret", "app-admin-2")
				got, err2 := s.data(ctx, "Secret", "app-connection")

				return errors.Join(err, err2, wantText(stored["password"] != "" && stored["password"] == got["password"], "it is not through"))
			})
		},
	)
}

// deny refuses Secrets with a name, as a webhook or a quota might do.
func (s scenario) deny(ctx context.Context, name string) error {
	const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]
  validations: [{expression: "!(object.metadata.name in ['%[2]s', 'probe'])", reason: Invalid}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

	if err := s.Apply(ctx, fmt.Sprintf(policy, s.ns, name)); err != nil {
		return err
	}

	return eventually(ctx, soon, "the policy", func() error {
		if s.write(ctx, "Secret", "probe", nil) != nil {
			return nil //nolint:nilerr // The call waits until the policy refuses the object.
		}

		return errors.Join(errors.New("it is not in effect"), s.Delete(ctx, s.core("Secret", "probe")))
	})
}
