package migrate_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate"
)

// A Secret that a source of function-kcl composes has the same name and the same data after the migration.
func TestKCLSecrets(t *testing.T) {
	details := map[string][]byte{"username": []byte("ann"), "pass.word": []byte("p%s")}
	xr := compositeXR(map[string]any{"spec": map[string]any{"region": "eu", "size": 3.0}})
	const parameters = "oxr = option(\"params\").oxr\nocds = option(\"params\").ocds\n"
	const head = "s = {\n  apiVersion = \"v1\"\n  kind = \"Secret\"\n  metadata.name = \"${oxr.metadata.name}-conn\"\n  metadata.annotations = {\n    \"krm.kcl.dev/composition-resource-name\" = \"conn\"\n  }\n"
	for name, c := range map[string]struct {
		reason string
		source string
		want   map[string]string // nil if a person must decide
	}{
		"ConnectionDetails": {
			reason: "they are in Base64, as data is",
			source: head + "  data = {\n    u = ocds[\"db\"].ConnectionDetails.username\n    \"p\" = ocds[\"db\"]?.ConnectionDetails?[\"pass.word\"] or \"\"\n  } if ocds else {}\n}\n",
			want:   map[string]string{"u": "ann", "p": "p%s"},
		},
		"Waiting": {
			reason: "the condition only waits for the resource, and there is nothing in the other branch",
			source: head + "  if \"db\" in ocds:\n    data: {\n      u = ocds[\"db\"].ConnectionDetails.username\n    }\n  else:\n    data: {}\n}\n",
			want:   map[string]string{"u": "ann"},
		},
		"Otherwise": {
			reason: "there is data in the other branch",
			source: head + "  if \"db\" in ocds:\n    data.u = ocds[\"db\"].ConnectionDetails.username\n  else:\n    data.v = \"aGVsbG8=\"\n}\n",
		},
		"Encoded": {
			reason: "what is encoded is text here",
			source: head + "  data.r = base64.encode(oxr.spec.region)\n  data.t = base64.encode(\"${oxr.spec.region}-100%\")\n  data.l = \"aGVsbG8=\"\n}\n",
			want:   map[string]string{"r": "eu", "t": "eu-100%", "l": "hello"},
		},
		"Text": {
			reason: "fields in a text, with quotes in the path",
			source: head + "  stringData: {\n    a: \"\\\"${ocds[\"db\"].Resource.status.host}\\\"\"\n    b: str(oxr.spec.size)\n  }\n}\n",
			want:   map[string]string{"a": `"h"`, "b": "3"},
		},
		"List": {
			reason: "an item of a list, without variables",
			source: "items = [\n  {\n    apiVersion = \"v1\"\n    kind = \"Secret\"\n    metadata = {name = \"x\"}\n  }\n" +
				"  {\n    apiVersion = \"v1\"\n    kind = \"Secret\"\n    metadata.name = \"xr-conn\"\n    stringData.r = option(\"params\").oxr.spec.region\n  }\n]\n",
		},
		"Condition": {
			reason: "a condition of another variable does not only wait",
			source: "enabled = oxr.spec.enabled\n" + head + "  stringData = {\n    a = \"b\"\n  } if enabled else {}\n}\n",
		},
		"Loop": {
			reason: "there is one object for each item",
			source: "items = [\n  {\n    apiVersion = \"v1\"\n    kind = \"Secret\"\n    stringData.a = \"b\"\n  } for u in oxr.spec.users\n]\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			composition := templatedComposition("")
			step, _ := composition["spec"].(map[string]any)["pipeline"].([]any)[0].(map[string]any)
			step["input"] = map[string]any{"apiVersion": "krm.kcl.dev/v1alpha1", "kind": "KCLInput", "spec": map[string]any{"source": parameters + c.source}}
			r, faults := migrate.Migrate(context.Background(), env, []migrate.Document{{Name: "doc", Value: composition}})
			if r == nil {
				t.Fatal(faults)
			}
			if (r.Decisions == 0) != (c.want != nil) {
				t.Fatalf("%s: %d decisions:\n%s", c.reason, r.Decisions, r.YAML)
			}
			if c.want == nil {
				return
			}
			_, inputs := steps(t, r.YAML)
			got, where, why := composedSecret(t, inputs[0], xr, observedDatabase(t, map[string]any{"host": "h"}, details))
			if diff := cmp.Diff(c.want, got); diff != "" || where != "team/xr-conn" {
				t.Errorf("%s: %s: -want, +got:\n%s\n%s\n%s", c.reason, where, diff, why, r.YAML)
			}
		})
	}
}
