package function_test

import (
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// warned reconciles until nothing changes, and returns the warnings, each once, without those about exports that wait.
func warned(c *functiontest.ControlPlane) (all []string) {
	for range 6 {
		for _, r := range c.Reconcile().GetResults() {
			text := r.GetMessage()
			isNew := !strings.Contains(text, "is kept unchanged") && !slices.Contains(all, text)
			if r.GetSeverity() == fnv1.Severity_SEVERITY_WARNING && isNew {
				all = append(all, text)
			}
		}
	}
	return all
}

// A change of a name that gives applications another value, or deletes their object, is not silent.
func TestRenames(t *testing.T) {
	const (
		fixed   = "secrets: [{name: connection, metadata: {name: login}, data: [{key: password, value: generated.admin.password}]}]"
		items   = "secrets: [{name: connection, forEachExpression: \"['a', 'b']\", keyExpression: item, data: [{key: k, value: item}]}]"
		users   = "generators: [{name: users, forEachExpression: \"['a', 'b']\", keyExpression: item, uuid: {}, gracePeriod: 24h}]\n"
		plain   = "secrets: [{name: connection, data: [{key: k, value: \"'v'\"}]}]"
		two     = "secrets: [{name: connection, data: [{key: k, value: \"'v'\"}]}, {name: second, data: [{key: k, value: \"'v'\"}]}]"
		admin   = "generators: [{name: admin, password: {}, gracePeriod: 24h}]\n" + fixed
		another = `applications get another value, because the export reads generator "root" instead of "admin", which the input ` +
			`no longer has. If the generator was renamed, rename it back `
		within  = "within its grace period (24h0m0s) to restore the value"
		deleted = ` is deleted unless a later step composes it, because no export and no earlier step does. If an export was ` +
			"renamed, rename it back, or set "
	)
	rename := func(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }
	first, unnamed := rename(plain, "connection", "first"), rename(admin, "metadata: {name: login}, ", "")
	ofUsers := rename(items, "value: item", `value: "generated.users[key].uuid"`)
	for name, tc := range map[string]struct {
		reason        string
		before, after string   // the input of the first step
		later         []string // the input of a second step, before and after
		want          []string
	}{
		"Generator": {
			"applications get the value of the new generator",
			admin, rename(admin, "admin", "root"), nil,
			[]string{`Secret "connection" (team-a/login): ` + another + within},
		},
		"GeneratorWithoutGracePeriod": {
			"its value is deleted once the export has the new one",
			rename(admin, ", gracePeriod: 24h", ""), rename(admin, "admin", "root", ", gracePeriod: 24h", ""), nil,
			[]string{`Secret "connection" (team-a/login): ` + another + "at once: it has no grace period, and its value is deleted"},
		},
		"GeneratorAndExportOfOneObject": {
			"the export takes the object over",
			admin, rename(admin, "admin", "root", "name: connection", "name: other"), nil,
			[]string{`Secret "other" (team-a/login): ` + another + within},
		},
		"GeneratorAndExport": {
			"the object is deleted, and the new one has another value",
			unnamed, rename(unnamed, "admin", "root", "name: connection", "name: other"), nil,
			[]string{
				`Secret "other" (team-a/shop-other): ` + another + within,
				`Secret team-a/shop-connection (composed resource "connection")` + deleted + `secrets[0].metadata.name to keep its name`,
			},
		},
		"GeneratorOfItems": {
			"each item of the generator has another name",
			users + ofUsers, rename(users+ofUsers, "users", "people"), nil,
			[]string{
				`Secret "connection/a" (team-a/shop-connection-a): ` + rename(another, "root", "people/a", "admin", "users/a") + within,
				`Secret "connection/b" (team-a/shop-connection-b): ` + rename(another, "root", "people/b", "admin", "users/b") + within,
			},
		},
		"GeneratorIsReplaced": {
			"the key has no generated value anymore, which is a change of the value in the input",
			admin, rename(fixed, "generated.admin.password", "\"'fixed'\""), nil, nil,
		},
		"GeneratorIsAdded": {
			"the value of the former generator does not change",
			admin, rename(admin, "]\nsecrets", ", {name: root, uuid: {}}]\nsecrets", "}]}]", "}, {key: id, value: generated.root.uuid}]}]"), nil, nil,
		},
		"Export": {
			"Crossplane deletes the object with the former name",
			plain, rename(plain, "connection", "other"), nil,
			[]string{`Secret team-a/shop-connection (composed resource "connection")` + deleted + `secrets[0].metadata.name to keep its name`},
		},
		"ConfigMap": {
			"a ConfigMap is also deleted",
			rename(plain, "secrets", "configMaps"), rename(plain, "secrets", "configMaps", "connection", "other"), nil,
			[]string{`ConfigMap team-a/shop-connection (composed resource "connection")` + deleted + `configMaps[0].metadata.name to keep its name`},
		},
		"ExportOfItems": {
			"each item has an object of its own",
			items, rename(items, "connection", "other"), nil,
			[]string{
				`Secret team-a/shop-connection-a (composed resource "connection/a")` + deleted + `secrets[0].metadata.nameExpression to keep its name`,
				`Secret team-a/shop-connection-b (composed resource "connection/b")` + deleted + `secrets[0].metadata.nameExpression to keep its name`,
			},
		},
		"ExportOfOneObject": {
			"an export with a fixed name keeps its object",
			admin, rename(admin, "name: connection", "name: other"), nil, nil,
		},
		"ExportKeepsItsName": {
			"the warning says how to keep the name of the object",
			plain, rename(plain, "name: connection", "name: other, metadata: {name: shop-connection}"), nil, nil,
		},
		"ExportIsRemoved": {
			"an export that is removed was not renamed",
			two, plain, nil, nil,
		},
		"ItemIsReplaced": {
			"an item that left its list has no object",
			items, rename(items, "'b'", "'c'"), nil, nil,
		},
		"ExportOfLaterStep": {
			"a first step does not name the objects of later steps, which it observes",
			plain, two, []string{rename(plain, "connection", "later"), rename(plain, "connection", "later")}, nil,
		},
		"ExportOfLaterStepIsRenamed": {
			"a record with a generator of the later step says that the object was its own",
			first, first, []string{unnamed, rename(unnamed, "name: connection", "name: other")},
			[]string{`Secret team-a/shop-connection (composed resource "connection")` + deleted + `secrets[0].metadata.name to keep its name`},
		},
		"ExportOfLaterStepWithoutGeneratorIsRenamed": {
			"nothing says of which of the later steps it was",
			first, first, []string{plain, rename(plain, "connection", "other")}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, tc.before)
			if tc.later != nil {
				c.Later = tc.later[:1]
			}
			if got := warned(c); got != nil || c.Fatal() != "" {
				t.Fatalf("warnings before the change: %q, %s", got, c.Fatal())
			}
			c.SetInput(tc.after)
			if tc.later != nil {
				c.Later = tc.later[1:]
			}
			if diff := cmp.Diff(tc.want, warned(c)); diff != "" || c.Fatal() != "" {
				t.Errorf("%s: -want, +got:\n%s%s", tc.reason, diff, c.Fatal())
			}
		})
	}
}

// Until the grace period ends, renaming a generator back has the effect that the warning promises.
func TestGeneratorIsRenamedBack(t *testing.T) {
	input := functiontest.RotatedPassword + functiontest.ConnectionOfAdmin
	c := functiontest.NewControlPlane(t, input)
	c.Settle()
	was := c.Value("shop-connection", "password")
	c.SetInput(strings.ReplaceAll(input, "admin", "root"))
	c.Settle()
	if c.Value("shop-connection", "password") == was {
		t.Fatal("the value is the same after the generator was renamed")
	}
	c.Wait(functiontest.Grace / 2)
	c.SetInput(input)
	if got := warned(c); len(got) != 1 || !strings.Contains(got[0], `reads generator "admin" instead of "root"`) {
		t.Errorf("warnings: %q", got)
	}
	if c.Value("shop-connection", "password") != was {
		t.Error("the value is another one after the generator was renamed back")
	}
}
