package inspect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// inputsText is a line for each input.
func inputsText(inputs []inspect.Input) []string {
	var out []string
	for _, in := range inputs {
		text := in.Name + " " + in.Need.String()
		if in.Secret {
			text += " secret"
		}
		if in.NonSensitive {
			text += " declared"
		}
		if len(in.Through) > 0 {
			text += " through " + strings.Join(in.Through, " ")
		}
		out = append(out, text)
	}
	return out
}

// keyText is a key as one line.
func keyText(k inspect.ExplainedKey) string {
	text := k.Path + ": " + strings.Join(append(append([]string{}, k.Names...), k.Others), "+")
	for _, n := range k.Maybe {
		text += "?" + n
	}
	if k.Optional {
		text += " (optional)"
	}
	if k.Own {
		text += " (own)"
	}
	return text + " = " + strings.Join(append(inputsText(k.Inputs), k.Waits...), ", ")
}

func asksText(asks []inspect.Ask) []string {
	text := func(s inspect.Spelling) string {
		if given := s.Expression + s.Words; given != "" {
			return "<" + given + ">"
		}
		return s.Text
	}
	var out []string
	for _, a := range asks {
		line := fmt.Sprintf("%s: %s %s %s/%s", a.Path, a.APIVersion, a.Kind, text(a.Namespace), text(a.Name))
		for _, l := range a.Labels {
			line += " " + l.Key + "=" + text(l.Value)
		}
		if a.Optional {
			line += " (optional)"
		}
		for _, in := range inputsText(a.Inputs) {
			line += " " + in
		}
		out = append(out, line)
	}
	return out
}

func explain(t testing.TB, input string) *inspect.Explanation {
	t.Helper()
	return inspect.Explain(compiled(t, input), nil)
}

func compiled(t testing.TB, input string) *plan.Plan {
	t.Helper()
	p, faults := plantest.Compile(t, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+input)
	if faults != nil {
		t.Fatal(faults)
	}
	return p
}

func TestExplainKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		input  string
		want   []string // of all keys, in their order
	}{
		"Value": {
			reason: "The resource that from names has its name, and its connection details are secret.",
			input:  `secrets: [{name: s, from: db, data: [{key: a, value: secret.password}, {key: b, value: resource.status.host, optional: true}]}]`,
			want: []string{
				"secrets[0].data[0].value: a+ = secrets.db.password required secret",
				"secrets[0].data[1].value: b+ (optional) = resources.db.status.host required",
			},
		},
		"Composite": {
			reason: "Without from they are the composite's.",
			input:  `secrets: [{name: s, data: [{key: a, value: secret.password + self.spec.a + resource.spec.b}]}]`,
			want:   []string{"secrets[0].data[0].value: a+ = secret.password required secret, composite.spec.a required, composite.spec.b required"},
		},
		"ValueMap": {
			reason: "Keys that the input spells are known.",
			input:  `secrets: [{name: s, from: db, data: [{valueMap: "{'a': secret.a, ?'b': secret.?b}"}, {valueMap: "{'c' + 'd': 'x'}"}]}]`,
			want: []string{
				"secrets[0].data[0].valueMap: a+?b = secrets.db.a required secret, secrets.db.b optional secret",
				"secrets[0].data[1].valueMap: keys that the expression computes = ",
			},
		},
		"Variables": {
			reason: "What a variable reads is read by who uses it, through all of them.",
			input: `
variables:
- {name: host, value: resources.db.status.host}
- {name: url, value: "variables.host + '/' + secrets.db.?path.orValue('')"}
secrets: [{name: s, data: [{key: a, value: variables.url}, {key: b, value: "composite.spec.a ? variables.host : 'x'"}, {key: c, value: "variables.?host.orValue('')"}]}]`,
			want: []string{
				"variables[0].value: host+ = resources.db.status.host required",
				"variables[1].value: url+ = resources.db.status.host required through host, secrets.db.path optional secret, secrets.db required secret",
				"secrets[0].data[0].value: a+ = resources.db.status.host required through url host, secrets.db.path optional secret through url, secrets.db required secret through url",
				"secrets[0].data[1].value: b+ = composite.spec.a required, resources.db.status.host conditional through host",
				"secrets[0].data[2].value: c+ = resources.db.status.host required through host",
			},
		},
		"Revisions": {
			reason: "The revision of an object that does not exist is 0, but an item may have left the list.",
			input: `
secrets: [{name: s, data: [{key: a, value: '"a"'}]}, {name: items, forEachExpression: composite.spec.items, keyExpression: item, data: [{key: a, value: '"a"'}]}]
status: [{fieldPath: a, value: revisions.s}, {fieldPath: b, value: revisions.items}, {fieldPath: c, value: revisions.items.x}, {fieldPath: d, value: "revisions.items[?'x'].orValue(0)"}]`,
			want: []string{
				"secrets[0].data[0].value: a+ = ",
				"secrets[1].forEachExpression: forEachExpression+ = composite.spec.items required",
				"secrets[1].keyExpression: keyExpression+ = item required",
				"secrets[1].data[0].value: a+ = ",
				"status[0].value: a+ = revisions.s optional",
				"status[1].value: b+ = revisions.items optional",
				"status[2].value: c+ = revisions.items.x required",
				"status[3].value: d+ = revisions.items.x optional, revisions.items optional",
			},
		},
		"NonSensitive": {
			reason: "A secret input of what is no Secret is declared to be none.",
			input: `
variables: [{name: user, value: secrets.db.username}]
configMaps: [{name: m, data: [{key: a, value: variables.user, nonSensitive: [db.username]}]}]
status: [{fieldPath: user, value: secrets.db.username, nonSensitive: [db.username], optional: true}]`,
			want: []string{
				"variables[0].value: user+ = secrets.db.username required secret",
				"configMaps[0].data[0].value: a+ = secrets.db.username required secret declared through user",
				"status[0].value: user+ (optional) = secrets.db.username required secret declared",
			},
		},
		"Sources": {
			reason: "A source that has to be there is waited for, also below an optional step.",
			input: `
sources:
- {name: ca, apiVersion: v1, kind: Secret}
- {name: zone, apiVersion: v1, kind: ConfigMap, optional: true}
secrets: [{name: s, data: [{key: a, value: "secrets.?ca.?x.orValue('')"}, {key: b, value: "sources.?zone.?data.?x.orValue('')"}]}]`,
			want: []string{
				"secrets[0].data[0].value: a+ = secrets.ca.x optional secret, secrets.ca required secret",
				"secrets[0].data[1].value: b+ = sources.zone.data.x optional",
			},
		},
		"Generated": {
			reason: "What a generator gives is waited for; a generation before need not be there.",
			input: `
generators: [{name: admin, password: {}}]
secrets: [{name: s, data: [{key: a, value: "generated.?admin.?password.orValue('')"}, {key: b, value: "previous.?admin.?password", optional: true}]}]`,
			want: []string{
				"secrets[0].data[0].value: a+ = generated.admin.password optional secret, generated.admin required secret",
				"secrets[0].data[1].value: b+ (optional) = previous.admin.password optional secret",
			},
		},
		"DataFrom": {
			reason: "Which keys there are is not known, but where they come from.",
			input: `
generators: [{name: admin, password: {}}]
sources: [{name: ca, apiVersion: v1, kind: Secret}, {name: zone, apiVersion: v1, kind: ConfigMap}]
secrets:
- name: s
  dataFrom:
  - extract: {key: db}
  - extract: {key: db, property: config.users}
  - {extract: {key: ca}, optional: true}
  - {extract: {key: cache}, optional: true}
  - extract: {key: generated.admin}
  - find: {path: cache/, name: {regexp: "port|host"}, tags: {env: dev}}
  - find: {path: generated.admin/}
  - find: {path: c}
  - valueMap: "{'x': secret.x}"
  - find: {name: {regexp: port}}
configMaps: [{name: m, dataFrom: [{extract: {key: zone}}, {extract: {key: environment, property: a.b}}]}]`,
			want: []string{
				"secrets[0].dataFrom[0]: all keys of secrets.db = secrets.db required secret, resources.db to be ready",
				"secrets[0].dataFrom[1]: all keys of secrets.db = secrets.db required secret, resources.db to be ready",
				"secrets[0].dataFrom[2]: all keys of secrets.ca (optional) = secrets.ca required secret",
				"secrets[0].dataFrom[3]: all keys of secrets.cache (optional) = secrets.cache required secret, resources.cache to be ready",
				"secrets[0].dataFrom[4]: all keys of generated.admin = generated.admin required secret",
				`secrets[0].dataFrom[5]: each key <input>/<key> that the find matches = secrets.cache conditional secret, each matching composed resource to be ready and to have connection details`,
				`secrets[0].dataFrom[6]: each key <input>/<key> that the find matches = generated.admin required secret, each matching composed resource to be ready and to have connection details`,
				`secrets[0].dataFrom[7]: each key <input>/<key> that the find matches = secrets.ca required secret, secrets[*] conditional secret, each matching composed resource to be ready and to have connection details`,
				"secrets[0].dataFrom[8]: x+renamed by rewrite = secret.x required secret",
				`secrets[0].dataFrom[9]: each key <input>/<key> that the find matches = secrets.ca required secret, secrets[*] conditional secret, each matching composed resource to be ready and to have connection details`,
				"configMaps[0].dataFrom[0]: all keys of sources.zone = sources.zone required",
				"configMaps[0].dataFrom[1]: all keys of environment.a.b = environment.a.b required",
			},
		},
		"Metadata": {
			reason: "Names, labels and annotations have expressions, too.",
			input: `
environment: {set: [{fieldPath: a.b, value: composite.spec.x}]}
secrets:
- name: s
  metadata: {nameExpression: composite.spec.ref.name, labelsExpression: "{'a': resources.db.a}", annotationsExpression: "{'u': secrets.db.u}", nonSensitive: [db.u]}
  data: [{key: a, value: "'x'"}]`,
			want: []string{
				"environment.set[0].value: a.b+ = composite.spec.x required",
				"secrets[0].metadata.nameExpression: metadata.nameExpression+ = composite.spec.ref.name required",
				"secrets[0].metadata.labelsExpression: metadata.labelsExpression+ = resources.db.a required",
				"secrets[0].metadata.annotationsExpression: metadata.annotationsExpression+ = secrets.db.u required secret declared",
				"secrets[0].data[0].value: a+ = ",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ex := explain(t, tc.input)
			var got []string
			add := func(keys []inspect.ExplainedKey) {
				for _, k := range keys {
					got = append(got, keyText(k))
				}
			}
			add(ex.Variables)
			add(ex.Environment)
			for _, o := range ex.Objects {
				add(o.Metadata)
				add(o.Keys)
			}
			add(ex.Status)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestExplainAsks(t *testing.T) {
	const own = "<namespace of the composite or its claim>"
	connection := func(path, of string) string {
		return fmt.Sprintf("%s: v1 Secret <namespace of %s>/<spec.writeConnectionSecretToRef.name of %[2]s> (optional)", path, of)
	}
	for name, tc := range map[string]struct {
		reason string
		input  string
		want   []string
		unused []string
	}{
		"Sources": {
			reason: "In the words of the input, and only those that are used.",
			input: `
sources:
- {name: ca, apiVersion: v1, kind: Secret, namespace: platform, matchName: root, optional: true}
- {name: own, apiVersion: v1, kind: Secret}
- {name: named, apiVersion: v1, kind: Secret, nameExpression: "variables.base + '-x'"}
- {name: zones, apiVersion: v1, kind: ConfigMap, matchLabels: {b: "2", a: "1"}}
- {name: class, apiVersion: storage.k8s.io/v1, kind: StorageClass, scope: Cluster}
- {name: unused, apiVersion: v1, kind: Secret}
variables: [{name: base, value: composite.metadata.name}]
status:
- {fieldPath: a, value: sources.zones.size()}
- {fieldPath: b, value: sources.class.provisioner}
secrets: [{name: s, metadata: {name: fixed, namespace: team}, data: [{key: a, value: secrets.ca.a + secrets.own.a + secrets.named.a}]}]`,
			want: []string{
				"sources[0]: v1 Secret platform/root (optional)",
				"sources[1]: v1 Secret " + own + "/own",
				"sources[2]: v1 Secret " + own + "/<variables.base + '-x'> composite.metadata.name required through base",
				"sources[3]: v1 ConfigMap " + own + "/ a=1 b=2",
				"sources[4]: storage.k8s.io/v1 StorageClass /class",
				"secrets[0]: v1 Secret team/fixed (optional)",
			},
			unused: []string{"unused"},
		},
		"Default": {
			reason: "An object without a name has that of the composite before its own.",
			input:  `configMaps: [{name: m, metadata: {namespaceExpression: composite.spec.ns}, data: [{key: a, value: "'x'"}]}]`,
			want:   []string{"configMaps[0]: v1 ConfigMap <composite.spec.ns>/<composite.metadata.name + '-m'> (optional)"},
		},
		"Generators": {
			reason: "What may have the name of the next generation is looked up.",
			input: `
generators:
- {name: admin, password: {}, namespace: vault}
- name: token
  resource:
    manifest: {apiVersion: example.org/v1, kind: Token}
    set: [{fieldPath: metadata.name, value: "composite.metadata.name + '-' + generation.id"}]
- {name: hash, bcrypt: {secretExpression: secret.seed}}
- {name: second, uuid: {}, namespace: vault}
secrets: [{name: s, data: [{key: a, value: generated.admin.password}]}]`,
			want: []string{
				connection("generators[2]", "a legacy composite"),
				connection("generators[1]", "each generation"),
				"secrets[0]: v1 Secret " + own + "/<composite.metadata.name + '-s'> (optional)",
				"generators[0]: v1 Secret vault/<composite.metadata.name + '-admin-' + string(generation.number)> (optional)",
				"generators[1]: example.org/v1 Token " + own + "/<composite.metadata.name + '-' + generation.id> (optional)",
				"generators[2]: v1 Secret " + own + "/<composite.metadata.name + '-hash-' + string(generation.number)> (optional)",
				"generators[3]: v1 Secret vault/<composite.metadata.name + '-second-' + string(generation.number)> (optional)",
			},
		},
		"ConnectionDetails": {
			reason: "Their Secrets are asked for where an expression uses them, and what all of them may be is in words.",
			input: `
sources: [{name: ca, apiVersion: v1, kind: Secret}]
variables: [{name: user, value: secrets.db.user}, {name: unused, value: secrets.other.user}]
status: [{fieldPath: a, value: resources.quiet.status.a}, {fieldPath: b, value: variables.user, nonSensitive: [db.user]}]
secrets:
- {name: s, from: db, metadata: {name: s, namespace: team}, data: [{key: a, value: secret.a}, {key: b, value: secret.b + secrets.ca.b}]}
- {name: t, metadata: {name: t, namespace: team}, data: [{key: a, value: "secrets[composite.spec.name].a"}], dataFrom: [{find: {path: cache/}}]}`,
			want: []string{
				"sources[0]: v1 Secret " + own + "/ca",
				connection("secrets[1]", "each composed resource"),
				connection("secrets[0], status[1]", "resources.db"),
				connection("secrets[1]", "each composed resource that the find matches"),
				"secrets[0]: v1 Secret team/s (optional)",
				"secrets[1]: v1 Secret team/t (optional)",
			},
		},
		"Environment": {
			reason: "By name, or by labels whose values are of the composite.",
			input: `
environment:
  environmentConfigs:
  - {type: Reference, ref: {name: base}}
  - {type: Selector, selector: {matchLabels: [{key: stage, type: FromCompositeFieldPath, valueFromFieldPath: spec.stage}, {key: team, type: Value, value: blue}]}}
  - {type: Selector, selector: {matchLabels: [{key: region, type: FromEnvironmentFieldPath, valueFromFieldPath: region, fromFieldPathPolicy: Optional}]}}
status: [{fieldPath: a, value: environment.a}]`,
			want: []string{
				"environment.environmentConfigs[0]: apiextensions.crossplane.io/v1beta1 EnvironmentConfig /base",
				"environment.environmentConfigs[1]: apiextensions.crossplane.io/v1beta1 EnvironmentConfig / stage=<composite.spec.stage> team=blue composite.spec.stage required",
				"environment.environmentConfigs[2]: apiextensions.crossplane.io/v1beta1 EnvironmentConfig / region=<environment.region> environment.region optional",
			},
		},
		"Tenants": {
			reason: "What composites' authors ask for is known in a composite only.",
			input:  `fromComposite: {fieldPath: spec.exports, allow: {secrets: [db]}}`,
			want:   []string{connection("fromComposite", "resources.db"), "fromComposite: v1 Secret " + own + "/ (optional)", "fromComposite: v1 ConfigMap " + own + "/ (optional)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ex := explain(t, tc.input)
			if diff := cmp.Diff(tc.want, asksText(ex.Asks)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.unused, ex.Unused); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestExplainRules(t *testing.T) {
	ex := explain(t, `
sources:
- {name: ca, apiVersion: v1, kind: Secret}
- {name: policy, apiVersion: networking.k8s.io/v1, kind: NetworkPolicy}
- {name: unused, apiVersion: example.org/v1, kind: Gizmo}
environment: {environmentConfigs: [{type: Reference, ref: {name: base}}]}
generators:
- {name: admin, password: {}}
- {name: token, resource: {manifest: {apiVersion: example.org/v1, kind: Token}}}
status: [{fieldPath: a, value: sources.policy.a + environment.a}]
configMaps: [{name: m, data: [{key: a, value: "'x'"}]}]
secrets: [{name: s, data: [{key: a, value: secrets.ca.a + generated.admin.password}]}]`)
	read, all := []string{"get", "list", "watch"}, []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	want := []inspect.Rule{
		{Resource: "configmaps", Verbs: read, Installed: true, For: []string{"configMaps[0]"}},
		{Resource: "secrets", Verbs: all, Installed: true, For: []string{"sources[0]", "generators[1]", "secrets[0]", "generators[0]"}},
		{APIGroup: "apiextensions.crossplane.io", Resource: "environmentconfigs", Verbs: read, Installed: true, For: []string{"environment.environmentConfigs[0]"}},
		{APIGroup: "example.org", Resource: "tokens", Verbs: all, Kind: "Token", For: []string{"generators[1]"}},
		{APIGroup: "networking.k8s.io", Resource: "networkpolicies", Verbs: read, Kind: "NetworkPolicy", For: []string{"sources[1]"}},
	}
	if diff := cmp.Diff(want, ex.Rules); diff != "" {
		t.Error(diff)
	}
}

// With requireGrants, Crossplane also reads the grants of the namespaces that sources name, and needs the right to do
// so.
func TestExplainGrants(t *testing.T) {
	const sources = "sources: [{name: a, apiVersion: v1, kind: Secret, namespace: x}, {name: b, apiVersion: v1, kind: Secret, namespace: x}, {name: c, apiVersion: v1, kind: Secret}]\n" +
		"secrets: [{name: s, data: [{key: k, value: secrets.a.k + secrets.b.k + secrets.c.k}]}]"
	for input, want := range map[string][]string{
		sources: {"Secret x/a (sources[0])", "Secret x/b (sources[1])", "Secret <namespace of the composite or its claim>/c (sources[2])"},
		"requireGrants: true\n" + sources: {
			"CustomResourceDefinition referencegrants.gateway.networking.k8s.io (sources[0], sources[1])", "ReferenceGrant x/<any name> (sources[0], sources[1])",
			"Secret x/a (sources[0])", "Secret x/b (sources[1])", "Secret <namespace of the composite or its claim>/c (sources[2])",
			"gateway.networking.k8s.io/referencegrants []",
		},
	} {
		ex := explain(t, input)
		var got []string
		for _, a := range ex.Asks[:len(ex.Asks)-1] { // the last one is for the export
			got = append(got, fmt.Sprintf("%s (%s)", a, a.Path))
		}
		for _, r := range ex.Missing() {
			got = append(got, fmt.Sprintf("%s/%s [%s]", r.APIGroup, r.Resource, r.Kind))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", input, diff)
		}
	}
}

// Crossplane's default role, as its Helm chart installs it.
func TestExplainMissingRules(t *testing.T) {
	for name, c := range map[string]struct {
		reason, apiVersion, kind string
		missing                  bool
	}{
		"ConfigMap":         {"the role reads and writes it", "v1", "ConfigMap", false},
		"Service":           {"the role reads and writes it", "v1", "Service", false},
		"Pod":               {"the role has other kinds of the group", "v1", "Pod", true},
		"Event":             {"the role only writes it", "v1", "Event", true},
		"Deployment":        {"the role reads and writes it", "apps/v1", "Deployment", false},
		"StatefulSet":       {"the role has another kind of the group", "apps/v1", "StatefulSet", true},
		"OtherService":      {"the kind of another group has the same name", "example.org/v1", "Service", true},
		"EnvironmentConfig": {"the role has all kinds of the group", "apiextensions.crossplane.io/v1beta1", "EnvironmentConfig", false},
		"Function":          {"the role has all kinds of the group", "pkg.crossplane.io/v1", "Function", false},
	} {
		t.Run(name, func(t *testing.T) {
			ex := explain(t, "sources: [{name: a, apiVersion: "+c.apiVersion+", kind: "+c.kind+"}]\nstatus: [{fieldPath: a, value: string(sources.a.metadata.name)}]")
			if got := len(ex.Missing()) > 0; got != c.missing || len(ex.Rules) != 1 {
				t.Errorf("%s: want missing: %t, got rules %+v", c.reason, c.missing, ex.Rules)
			}
		})
	}
}

// A plural that is known is taken, and else it is guessed as those who write definitions do.
func TestExplainPlurals(t *testing.T) {
	resources := func(kind string, plural func(plan.Kind) string) string {
		p := compiled(t, "sources: [{name: a, apiVersion: example.org/v1, kind: "+kind+"}]\nstatus: [{fieldPath: a, value: sources.a.b}]")
		r := inspect.Explain(p, plural).Rules
		if len(r) != 1 {
			t.Fatalf("%s: want a rule, got %v", kind, r)
		}
		return strings.TrimSpace(r[0].Resource + " " + r[0].Kind)
	}
	for kind, want := range map[string]string{
		"AccessKey": "accesskeys", "Gateway": "gateways", "Deploy": "deploys", "NetworkPolicy": "networkpolicies", "Proxy": "proxies",
		"Prefix": "prefixes", "Box": "boxes",
		"Ingress": "ingresses", "Status": "statuses", "Alias": "aliases", "Settings": "settings", "Endpoints": "endpoints", "Redis": "redis",
		"Batch": "batches", "Mesh": "meshes", "Topaz": "topazes", "Database": "databases", "Bucket": "buckets",
	} {
		if diff := cmp.Diff(want+" "+kind, resources(kind, nil)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want+" "+kind, resources(kind, func(plan.Kind) string { return "" })); diff != "" {
			t.Error(diff)
		}
	}
	known := func(k plan.Kind) string {
		return map[string]string{"example.org/v1/Gizmo": "gizmoes"}[k.Path()]
	}
	if diff := cmp.Diff("gizmoes", resources("Gizmo", known)); diff != "" {
		t.Error(diff)
	}
}
