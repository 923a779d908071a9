package plan_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

func TestCompileShape(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"Nothing": {
			reason: "an input that exports nothing is one",
			input:  plantest.Exports(""),
		},
		"NoInput": {
			reason: "of an empty Struct both are missing",
			input:  `{}`,
			want: []string{
				"apiVersion: must be export.fn.crossplane.io/v1beta1",
				"kind: must be Exports",
			},
		},
		"OtherVersionAndKind": {
			reason: "the input of another function is refused",
			input:  `{apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources}`,
			want: []string{
				"apiVersion: must be export.fn.crossplane.io/v1beta1",
				"kind: must be Exports",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, c.input)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Compile(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestCompileNames(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"TwoWriters": {
			reason: "a key has one writer, and both are named",
			input:  plantest.Exports(`secrets: [{name: a, data: [{key: k, value: "'1'"}, {key: l, value: "'2'"}, {key: k, value: "'3'"}]}]`),
			want:   []string{`secrets[0].data[2].key: key "k" is written by secrets[0].data[0] and secrets[0].data[2]: keep one of them`},
		},
		"TwoExports": {
			reason: "a composition resource name is unique over Secrets and ConfigMaps",
			input:  plantest.Exports(`{secrets: [{name: a, data: [{key: k, value: "'1'"}]}], configMaps: [{name: a, data: [{key: k, value: "'1'"}]}]}`),
			want:   []string{`configMaps[0].name: composition resource name "a" is also used by secrets[0].name: rename one of them`},
		},
		"ExportAndSecretSource": {
			reason: "secrets.a would be the source now, and the export once it is observed",
			input: plantest.Exports(`
sources: [{name: a, apiVersion: v1, kind: Secret}, {name: b, apiVersion: v1, kind: ConfigMap}]
secrets: [{name: a, data: [{key: k, value: "'1'"}]}, {name: b, data: [{key: k, value: "'1'"}]}]`),
			want: []string{`secrets[0].name: composition resource name "a" is also used by sources[0].name: rename one of them`},
		},
		"FromSource": {
			reason: "from is a composed resource: a Secret source there would wait for ever",
			input: plantest.Exports(`
sources: [{name: ca, apiVersion: v1, kind: Secret}, {name: cm, apiVersion: v1, kind: ConfigMap}]
secrets: [{name: a, from: ca, data: [{key: k, value: secret.x}]}, {name: b, from: cm, data: [{key: k, value: secret.x}]}]
configMaps: [{name: c, from: ca, data: [{key: k, value: "'v'"}]}]`),
			want: []string{
				`secrets[0].from: "ca" is a source, not a composed resource: leave it out, and read the source as secrets.ca`,
				`configMaps[0].from: "ca" is a source, not a composed resource: leave it out, and read the source as secrets.ca`,
			},
		},
		"IllegalKeys": {
			reason: "no object can have them",
			input:  plantest.Exports(`secrets: [{name: a, data: [{key: a b, value: "'1'"}, {valueMap: "{'..': '2'}"}]}]`),
			want: []string{
				`secrets[0].data[0].key: cannot use key "a b": use letters, digits, '-', '_' and '.' only`,
				`secrets[0].data[1].valueMap: cannot use key "..": it becomes a file name where the object is mounted; use another than '.', and none that starts with '..'`,
			},
		},
		"IllegalMetadata": {
			reason: "what the API server would refuse, and what Crossplane sets itself",
			input: plantest.Exports(`
secrets:
- name: a
  metadata: {name: A_B, namespace: a.b, labels: {crossplane.io/composite: x, ok: "not ok"}, annotations: {crossplane.io/composition-resource-name: x, export.fn.crossplane.io/generator: x}}
  data: [{key: k, value: "'1'"}]
- name: B_C
  data: [{key: k, value: "'1'"}]
- name: C_D
  metadata: {nameExpression: "'c'"}
  data: [{key: k, value: "'1'"}]`),
			want: []string{
				`secrets[0].metadata.name: cannot use name "A_B": use lower-case letters, digits, '-' and '.', and start and end each part between dots with a letter or a digit`,
				`secrets[0].metadata.namespace: cannot use namespace "a.b": use lower-case letters, digits and '-', and start and end with a letter or a digit`,
				`secrets[0].metadata.labels[ok]: cannot use the value of label "ok": use at most 63 letters, digits, '-', '_' and '.', and start and end with a letter or a digit, or write an annotation, which can have any text`,
				`secrets[0].metadata.labels: cannot set label "crossplane.io/composite": Crossplane sets it to find the objects of a composite again; leave it out`,
				`secrets[0].metadata.annotations: cannot set annotation "crossplane.io/composition-resource-name": Crossplane sets it to find the objects of a composite again; leave it out`,
				`secrets[0].metadata.annotations: cannot set annotation "export.fn.crossplane.io/generator": function-export keeps its own state there; leave it out`,
				`secrets[1].metadata.name: must be set, because "B_C" cannot be part of an object's name: set it, or rename the export in lower case without '_'`,
			},
		},
		"SourceNames": {
			reason: "names that no object can have",
			input: plantest.Exports(`
sources:
- {name: d, apiVersion: v1, kind: ConfigMap, namespace: N_, matchName: ../x}
- {name: e/f, apiVersion: v1, kind: ConfigMap}
- {name: g, apiVersion: v1, kind: ConfigMap, matchLabels: {crossplane.io/composite: ok, "a b": c, d: "e f"}}
- {name: h, apiVersion: /v1, kind: Secret}`),
			want: []string{
				`sources[0].namespace: cannot use namespace "N_": use lower-case letters, digits and '-', and start and end with a letter or a digit`,
				"sources[0].matchName: is not a valid name of an object: it may not contain '/'",
				"sources[1].name: is not a valid name of an object: it may not contain '/'",
				`sources[2].matchLabels: "a b" is not a valid label key, or its value is not a valid label value`,
				`sources[2].matchLabels: "d" is not a valid label key, or its value is not a valid label value`,
				"sources[3].apiVersion: must be a version, or a group, a slash and a version, as in apps/v1",
			},
		},
		"Status": {
			reason: "one writer of a field and of what is below it, and nothing that Crossplane writes",
			input: plantest.Exports(`
status:
- {fieldPath: a.b, value: "1"}
- {fieldPath: a, value: "1"}
- {fieldPath: "a[b].c", value: "1"}
- {fieldPath: ab, value: "1"}
- {fieldPath: "l[0]", value: "1"}
- {fieldPath: "l[*]", value: "1"}
- {fieldPath: "a[", value: "1"}
- {fieldPath: a..b, value: "1"}`),
			want: []string{
				`status[1].fieldPath: "a" is also written by status[0].fieldPath: keep one of them`,
				`status[2].fieldPath: "a[b].c" is also written by status[0].fieldPath: keep one of them`,
				"status[4].fieldPath: must contain only field names: write a list as a whole",
				"status[5].fieldPath: must contain only field names: write a list as a whole",
				"status[6].fieldPath: cannot be parsed as a field path: unterminated '[' at position 1",
				"status[7].fieldPath: cannot be parsed as a field path: unexpected '.' at position 2",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, c.input)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Compile(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestCompileExpressions(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"Undeclared": {
			reason: "the diagnostic has a position in the source",
			input:  plantest.Exports(`{variables: [{name: v, value: compsite.x}], secrets: [{name: a, metadata: {nameExpression: 1 + nope}, data: [{key: k, value: compsite.spec.x}, {key: l, value: "'a' + nope"}]}]}`),
			want: []string{
				"variables[0].value:1:1: there is no variable compsite: did you mean composite?",
				"secrets[0].metadata.nameExpression:1:5: there is no variable nope: write text in its own quotes, as in \"'some text'\"",
				"secrets[0].data[0].value:1:1: there is no variable compsite: did you mean composite?",
				"secrets[0].data[1].value:1:7: there is no variable nope: write text in its own quotes, as in \"'some text'\"",
			},
		},
		"InDocumentOrder": {
			reason: "diagnostics of names and expressions are one list, and item 10 is after item 2",
			input: plantest.Exports(`
status: [{fieldPath: x, value: nope}]
configMaps: [{name: a, data: [{key: k, value: nope}]}]
secrets:
- name: a
  data: [` + strings.Repeat(`{valueMap: "composite.a"}, `, 2) + `{key: "!", value: "nope"}, ` + strings.Repeat(`{valueMap: "composite.a"}, `, 7) + `{key: b, value: nope}]
variables: [{name: v, value: nope}]
sources: [{name: s, apiVersion: v1, kind: ConfigMap, nameExpression: nope}]`),
			want: []string{
				`sources[0].nameExpression:1:1: there is no variable nope: write text in its own quotes, as in "'some text'"`,
				`variables[0].value:1:1: there is no variable nope: write text in its own quotes, as in "'some text'"`,
				`secrets[0].data[2].value:1:1: there is no variable nope: write text in its own quotes, as in "'some text'"`,
				`secrets[0].data[10].value:1:1: there is no variable nope: write text in its own quotes, as in "'some text'"`,
				`secrets[0].data[2].key: cannot use key "!": use letters, digits, '-', '_' and '.' only`,
				`configMaps[0].name: composition resource name "a" is also used by secrets[0].name: rename one of them`,
				`configMaps[0].data[0].value:1:1: there is no variable nope: write text in its own quotes, as in "'some text'"`,
				`status[0].value:1:1: there is no variable nope: write text in its own quotes, as in "'some text'"`,
			},
		},
		"Variables": {
			reason: "a variable may use those above it, by their names, and not itself",
			input: plantest.Exports(`
variables: [{name: host, value: variables.later}, {name: later, value: variables.later + variables.hots}]
secrets: [{name: a, data: [{key: k, value: variables.hsot}, {key: l, value: "[1].map(variables, .variables.nope)[0]"}, {key: m, value: "has(variables.zzzzzz) ? 'a' : 'b'"}]}]`),
			want: []string{
				`variables[0].value:1:10: variable "later" is declared further down, but a variable may use only variables above it: move it up`,
				`variables[1].value:1:10: variable "later" is declared further down, but a variable may use only variables above it: move it up`,
				`variables[1].value:1:28: there is no variable "hots": did you mean host?`,
				`secrets[0].data[0].value:1:10: there is no variable "hsot": did you mean host?`,
				`secrets[0].data[1].value:1:30: there is no variable "nope": there are host, later`,
				`secrets[0].data[2].value:1:4: there is no variable "zzzzzz": there are host, later`,
			},
		},
		"MisplacedSource": {
			reason: "a Secret in sources cannot be read by sources, because that would wait forever; both diagnostics of an expression are returned at once",
			input: plantest.Exports(`
sources: [{name: ca, apiVersion: v1, kind: Secret}, {name: ca.crt, apiVersion: v1, kind: Secret}]
secrets: [{name: a, data: [{key: k, value: "variables.v + sources.ca.data.x"}, {key: l, value: "sources['ca.crt'].x"}]}]`),
			want: []string{
				`secrets[0].data[0].value:1:10: there is no variable "v": add - {name: v, value: ...} under variables`,
				`secrets[0].data[0].value:1:30: source "ca" is a Secret: read it as secrets.ca`,
				`secrets[0].data[1].value:1:18: source "ca.crt" is a Secret: read it as secrets['ca.crt']`,
			},
		},
		"SourceInName": {
			reason: "a name must be known before a source is read, also through a variable, and by a Secret that is not secret",
			input: plantest.Exports(`
sources:
- {name: s, apiVersion: v1, kind: ConfigMap, nameExpression: sources.t.data.x}
- {name: t, apiVersion: v1, kind: Secret}
variables: [{name: v, value: sources.s.data.x}, {name: w, value: variables.v}]
secrets:
- name: a
  metadata: {nameExpression: variables.w, namespaceExpression: sources.s.data.x}
  data: [{key: k, value: "'v'"}]
- name: b
  metadata: {nameExpression: secrets.t.x, nonSensitive: [t.x]}
  data: [{key: k, value: "'v'"}]
- name: c
  metadata: {labelsExpression: "{'a': variables.w}", annotationsExpression: "{'a': sources.s.data.x}", nameExpression: "'c'"}
  data: [{key: k, value: "'v'"}]`),
			want: []string{
				`sources[0].nameExpression:1:15: source "t" is a Secret: read it as secrets.t`,
				"secrets[0].metadata.nameExpression: may not use sources: the name must be known before any source is read",
				"secrets[0].metadata.namespaceExpression: may not use sources: the name must be known before any source is read",
				"secrets[1].metadata.nameExpression:1:10: may not use secrets.t.x: the name must be known before any Secret is read: leave it out",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, c.input)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Compile(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestCompileLimits(t *testing.T) {
	item := func(format string, n int) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(format, i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"JustEnoughItems": {
			reason: "the limit itself is allowed",
			input: plantest.Exports("secrets: [{name: c, data: " + item("{key: n%d, value: \"'v'\"}", limits.DataItems) + "}]" +
				"\nstatus: " + item("{fieldPath: n%d, value: \"1\"}", limits.ListItems)),
		},
		"TooManyExpressions": {
			reason: "over all exports together, said once",
			input:  plantest.Exports("secrets: " + item("{name: n%d, data: "+strings.ReplaceAll(item("{key: n%d, value: \"'v'\"}", limits.DataItems), "%", "%%")+"}", limits.Expressions/limits.DataItems+1)),
			want:   []string{"secrets[8].data[0].value: exceeds the limit of 2048 expressions: split the input into several pipeline steps"},
		},
		"DeepExpression": {
			reason: "comprehensions multiply",
			input:  plantest.Exports("status: [{fieldPath: a, value: \"" + strings.Repeat("[1].map(x, ", 9) + "1" + strings.Repeat(")", 9) + "\"}]"),
			want:   []string{"status[0].value: nests 9 comprehensions, over the limit of 8: split it into variables"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, c.input)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Compile(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestCompileCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p, faults := plan.Compile(ctx, plantest.Env, plantest.Parse(t, plantest.Exports(`secrets: [{name: a, data: [{key: k, value: "'1'"}]}]`)))
	if p != nil || len(faults) != 1 || faults[0].Error() != "input: was not compiled: context canceled" {
		t.Errorf("Compile(...) with a cancelled context: %v, %v: want a diagnostic, because expressions are missing", p, faults)
	}
}

// FuzzCompileNeverPanics compiles any JSON as an input. The result is a plan or a list of
// diagnostics, each with a path, and it is the same the second time.
func FuzzCompileNeverPanics(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `{"secrets": [null, 1, "a", [], {"data": [null, {"value": "secret"}]}]}`, `{"secrets": {"0": {}}}`,
		`{"apiVersion": "export.fn.crossplane.io/v1beta1", "kind": "Exports", "secrets": [{"name": "a", "data": [{"key": "k", "value": "secret.a"}]}], "ttl": "1h"}`,
		`{"variables": [{"name": "a", "value": "variables[variables.a]"}], "status": [{"fieldPath": "a.b[c]", "value": "1"}]}`,
		`{"sources": [{"name": "\u0000", "apiVersion": "v1", "kind": "Secret", "matchLabels": {"\u0000": "é"}}], "a\u0000\n": {"b": [[[]]]}}`,
		`{"metadata": {"labels": 1}, "ttl": "\"\u0000", "configMaps": [{"metadata": {"labels": {"a.b[0]:1": null}}, "data": [{"nonSensitive": [1]}]}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := &structpb.Struct{}
		if protojson.Unmarshal(b, in) != nil {
			return
		}
		p, faults := plan.Compile(context.Background(), plantest.Env, in)
		if (p == nil) != (len(faults) > 0) {
			t.Fatalf("plan %v, faults %v: want either a plan or diagnostics", p, faults)
		}
		for _, x := range faults {
			if x.Path == "" || x.Rule == "" || x.Message == "" {
				t.Errorf("diagnostic %#v has no path, or does not say what is wrong", x)
			}
		}
		if _, again := plan.Compile(context.Background(), plantest.Env, in); cmp.Diff(faults, again) != "" {
			t.Errorf("diagnostics differ on a second run: %v and %v", faults, again)
		}
	})
}
