package live_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An export composes one Secret for each user of the composite.
func exportsItems(ctx context.Context, s scenario) error {
	given := login()
	of := func(user, role string) func() error {
		want := map[string]string{"name": user, "role": role, "password": given["password"]}
		return func() error { return s.becomes(ctx, "Secret", "app-user-"+user, want) }
	}
	apply := func(users ...string) func() error {
		return func() error { return s.applyApp(ctx, "users: ["+strings.Join(users, ", ")+"]") }
	}

	const anna, bert, carl = "{name: anna, role: reader}", "{name: bert, role: reader}", "{name: carl, role: reader}"

	var before []*unstructured.Unstructured // the Secrets that must stay as they are

	keep := func(users ...string) func() error {
		return func() (err error) { before, err = s.secretsOf(ctx, users...); return err }
	}
	kept := func() error { return s.allUntouched(ctx, before) }
	available := func() error { return s.says(ctx, s.app(), "Available") }

	return first(
		func() error {
			return s.open(ctx, "App", loginSource+`
secrets:
- name: user
  forEachExpression: composite.spec.users
  keyExpression: item.name
  data:
  - {key: name, value: key}
  - {key: role, value: item.role}
  - {key: password, value: secrets.login.password}
`)
		},
		func() error { return s.write(ctx, "Secret", "login", given) },
		apply(anna, bert), of("anna", "reader"), of("bert", "reader"), available, keep("anna", "bert"),
		// Added at the front, so that the index of the others changes.
		apply(carl, anna, bert), of("carl", "reader"), available, kept, keep("anna", "bert", "carl"),
		// Reordered.
		apply(bert, carl, anna), func() error { return s.force(ctx, s.app(), 3) }, available, kept,
		// Removed.
		apply(carl, bert), func() error { return s.deleted(ctx, "app-user-anna") }, available, keep("bert"),
		// A key is there twice: bert's Secret stays, carl's follows its item, and a new item gets its Secret.
		apply(bert, "{name: bert, role: admin}", "{name: carl, role: admin}", "{name: dora, role: admin}"),
		of("carl", "admin"), of("dora", "admin"),
		func() error { return s.says(ctx, s.app(), "Held", `"bert"`, "index 0, 1", "user/bert") },
		kept, keep("bert", "carl", "dora"),
		// An item without a key, while another item leaves the list: any of the Secrets may still have an item.
		apply(bert, "{role: admin}"),
		func() error { return s.says(ctx, s.app(), "Held", "the item at index 1", "user/carl", "user/dora") }, kept,
		// The list is missing.
		func() error { return s.applyApp(ctx) },
		func() error { return s.says(ctx, s.app(), "Held", "composite.spec.users") }, kept,
		func() error { return s.deleted(ctx, "app-user-anna") },
		// All items leave a list that is there.
		apply(bert), func() error { return s.deleted(ctx, "app-user-anna", "app-user-carl", "app-user-dora") }, available,
		apply(), func() error {
			return s.deleted(ctx, "app-user-anna", "app-user-carl", "app-user-dora", "app-user-bert")
		}, available,
	)
}

// secretsOf returns the Secrets of users.
func (s scenario) secretsOf(ctx context.Context, users ...string) (out []*unstructured.Unstructured, err error) {
	for _, user := range users {
		o, err := s.Get(ctx, s.core("Secret", "app-user-"+user))
		if err != nil {
			return nil, err
		}

		out = append(out, o)
	}

	return out, nil
}

// allUntouched is untouched for several objects.
func (s scenario) allUntouched(ctx context.Context, before []*unstructured.Unstructured) error {
	for _, o := range before {
		if err := s.untouched(ctx, o); err != nil {
			return err
		}
	}

	return nil
}

// deleted waits until exactly these Secrets have ever been deleted. No other Secret may have been.
func (s scenario) deleted(ctx context.Context, want ...string) error {
	return eventually(ctx, soon, "the end of Secrets", func() error {
		var got []string

		for _, e := range film.of(s.ns) {
			if e.kind != "DELETED" {
				continue
			}

			if got = append(got, e.object.GetName()); !slices.Contains(want, e.object.GetName()) {
				return brokenf("%s", e)
			}
		}

		slices.Sort(got)

		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
			return fmt.Errorf("deleted Secrets: -want, +got:\n%s", diff)
		}

		return nil
	})
}
