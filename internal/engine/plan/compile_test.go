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

func TestCompileNames(t *testing.T) {
	checkCompiled(t, map[string]compiled{
		"ExportAndSecretSource": {
			reason: "secrets.a would be the source now, and the export once it is observed",
			input: `
sources: [{name: a, apiVersion: v1, kind: Secret}, {name: b, apiVersion: v1, kind: ConfigMap}]
secrets: [{name: a, data: [{key: k, value: "'1'"}]}, {name: b, data: [{key: k, value: "'1'"}]}]`,
			want: []string{`secrets[0].name: composition resource name "a" is also used by sources[0].name: rename one of them`},
		},
		"IllegalMetadata": {
			reason: "what the API server would refuse, and what Crossplane sets itself",
			input: `
secrets:
- name: a
  metadata: {name: A_B, namespace: a.b, labels: {crossplane.io/composite: x, ok: "not ok"}, annotations: {crossplane.io/composition-resource-name: x, export.fn.crossplane.io/generator: x}}
  data: [{key: k, value: "'1'"}]
- name: B_C
  data: [{key: k, value: "'1'"}]
- name: C_D
  metadata: {nameExpression: "'c'"}
  data: [{key: k, value: "'1'"}]`,
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
			input: `
sources:
- {name: d, apiVersion: v1, kind: ConfigMap, namespace: N_, matchName: ../x}
- {name: e/f, apiVersion: v1, kind: ConfigMap}
- {name: g, apiVersion: v1, kind: ConfigMap, matchLabels: {crossplane.io/composite: ok, "a b": c, d: "e f"}}
- {name: h, apiVersion: /v1, kind: Secret}`,
			want: []string{
				`sources[0].namespace: cannot use namespace "N_": use lower-case letters, digits and '-', and start and end with a letter or a digit`,
				"sources[0].matchName: is not a valid name of an object: it may not contain '/'",
				"sources[1].name: is not a valid name of an object: it may not contain '/'",
				`sources[2].matchLabels: "a b" is not a valid label key, or its value is not a valid label value`,
				`sources[2].matchLabels: "d" is not a valid label key, or its value is not a valid label value`,
				"sources[3].apiVersion: must be a version, or a group, a slash and a version, as in apps/v1",
			},
		},
	})
}

func TestCompileExpressions(t *testing.T) {
	checkCompiled(t, map[string]compiled{
		"InDocumentOrder": {
			reason: "diagnostics of names and expressions are one list, and item 10 is after item 2",
			input: `
status: [{fieldPath: x, value: nope}]
configMaps: [{name: a, data: [{key: k, value: nope}]}]
secrets:
- name: a
  data: [` + strings.Repeat(`{valueMap: "composite.a"}, `, 2) + `{key: "!", value: "nope"}, ` + strings.Repeat(`{valueMap: "composite.a"}, `, 7) + `{key: b, value: nope}]
variables: [{name: v, value: nope}]
sources: [{name: s, apiVersion: v1, kind: ConfigMap, nameExpression: nope}]`,
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
		"SourceInName": {
			reason: "a name must be known before a source is read, also through a variable, and by a Secret that is not secret",
			input: `
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
  data: [{key: k, value: "'v'"}]`,
			want: []string{
				`sources[0].nameExpression:1:15: source "t" is a Secret: read it as secrets.t`,
				"secrets[0].metadata.nameExpression: may not use sources: the name must be known before any source is read",
				"secrets[0].metadata.namespaceExpression: may not use sources: the name must be known before any source is read",
				"secrets[1].metadata.nameExpression:1:10: may not use secrets.t.x: the name must be known before any Secret is read: leave it out",
			},
		},
	})
}

func TestCompileLimits(t *testing.T) {
	item := func(format string, n int) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(format, i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	checkCompiled(t, map[string]compiled{
		"TooManyExpressions": {
			reason: "over all exports together, said once",
			input:  "secrets: " + item("{name: n%d, data: "+strings.ReplaceAll(item("{key: n%d, value: \"'v'\"}", limits.DataItems), "%", "%%")+"}", limits.Expressions/limits.DataItems+1),
			want:   []string{"secrets[8].data[0].value: exceeds the limit of 2048 expressions: split the input into several pipeline steps"},
		},
	})
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
