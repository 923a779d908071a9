package strict_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/strict"
)

func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		reason, input string
		want          []string
	}{
		"Nothing": {"an empty input breaks no rule", `{}`, nil},
		"Order": {
			"fields in the order of the Go types, each with one diagnostic",
			`{ttl: 1ms, secrets: [{}, {name: "", data: [{value: "", key: ..}]}],
sources: [{name: "", apiVersion: v1, kind: Secret, namespace: ""}]}`,
			[]string{
				"sources[0].name: must not be empty: set a value",
				"sources[0].namespace: must not be empty: leave it out, or set a value",
				"secrets[0].name: must be set",
				"secrets[0].data: must have at least one item, unless dataFrom is set",
				"secrets[1].name: must not be empty: set a value",
				"secrets[1].data[0].key: must not be '.' or begin with '..'",
				`secrets[1].data[0].value: must not be empty: in an expression, write an empty text as "''"`,
				"ttl: must be 0s, or from 1s to 24h",
			},
		},
		"Present": {
			"rules about the presence of fields",
			`{secrets: [{name: a, data: [{key: k}, {key: l, value: v, valueMap: v},
{value: v}, {key: m, valueMap: v}],
dataFrom: [{}, {find: {}}]}],
generators: [{name: a}]}`,
			[]string{
				"generators[0]: must have password, uuid, sshKey, certificate, bcrypt, htpasswd, pkcs12, jks or resource",
				"secrets[0].data[0]: must have value or valueMap",
				"secrets[0].data[1].valueMap: must not be set together with value: keep one of them",
				"secrets[0].data[2].key: must be set with value, and not with valueMap, which returns the keys",
				"secrets[0].data[3].key: must be set with value, and not with valueMap, which returns the keys",
				"secrets[0].dataFrom[0]: must have extract, find or valueMap",
				"secrets[0].dataFrom[1].find: must have path, name or tags",
			},
		},
		"Bounds": {
			"lists, maps, texts, numbers and enumerations",
			`{sources: [{name: a, apiVersion: v1, kind: ConfigMap, matchLabels: {}, scope: None},
{name: a, apiVersion: v1, kind: ConfigMap}],
fromComposite: {fieldPath: spec.a, allow: {labels: [a, a]}},
generators: [{name: a, password: {length: 0}}, {name: b, bcrypt: {cost: 13, secretExpression: "` +
				strings.Repeat("x", 4097) + `"}}], status: [` + strings.Repeat("{}, ", 64) + `{}]}`,
			[]string{
				"sources[0].scope: must be Namespaced or Cluster",
				"sources[0].matchLabels: must not be empty: leave it out, or add an item",
				`sources[1].name: "a" is also the name of sources[0]: rename one of them`,
				"generators[0].password.length: is 0: must be 1 to 1024",
				"generators[1].bcrypt.secretExpression: has 4097 characters, over the limit of 4096: split it " +
					"into variables",
				"generators[1].bcrypt.cost: is 13: must be 4 to 12",
				"status: has 65 items, over the limit of 64: split the input into several pipeline steps",
				`fromComposite.allow.labels[1]: "a" is listed twice`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := &structpb.Struct{}
			text, err := yaml.YAMLToJSON([]byte(c.input))
			if err != nil || protojson.Unmarshal(text, in) != nil {
				t.Fatal(err)
			}
			var got []string
			_, _, list := strict.Decode(in, nil)
			for _, d := range list {
				got = append(got, d.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
