package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// TestMaskSecrets: where the values of a Secret lie, and what is in their place.
func TestMaskSecrets(t *testing.T) {
	cases := map[string]struct {
		reason   string
		in, want string
	}{
		"Data":       {in: `{apiVersion: v1, kind: Secret, type: Opaque, data: {a: czNjcmV0}}`, want: `{apiVersion: v1, kind: Secret, type: Opaque, data: {a: "[6 bytes]"}}`},
		"StringData": {in: `{apiVersion: v1, kind: Secret, stringData: {a: grüße, b: ""}}`, want: `{apiVersion: v1, kind: Secret, stringData: {a: "[7 bytes]", b: "[0 bytes]"}}`},
		"NoData":     {in: `{apiVersion: v1, kind: Secret, data: null}`, want: `{apiVersion: v1, kind: Secret, data: {}}`},
		"NotBase64":  {in: `{apiVersion: v1, kind: Secret, data: {a: s3cret!}}`, want: `{apiVersion: v1, kind: Secret, data: {a: "[not base64]"}}`},
		"NotStrings": {in: `{apiVersion: v1, kind: Secret, data: {a: 5, b: [s3cret], c: {d: s3cret}, e: null}}`, want: `{apiVersion: v1, kind: Secret, data: {a: "[not a string]", b: "[not a string]", c: "[not a string]", e: "[not a string]"}}`},
		"NotAMap":    {in: `{apiVersion: v1, kind: Secret, data: s3cret, stringData: [s3cret]}`, want: `{apiVersion: v1, kind: Secret, data: "[6 bytes]", stringData: "[not a string]"}`},
		"Metadata": {
			reason: "All else of a Secret stays.",
			in:     `{apiVersion: v1, kind: Secret, metadata: {name: data, labels: {data: x}, annotations: {data: x}}, immutable: true}`,
			want:   `{apiVersion: v1, kind: Secret, metadata: {name: data, labels: {data: x}, annotations: {data: x}}, immutable: true}`,
		},
		"LastApplied": {
			in:   `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"v1","kind":"Secret","stringData":{"a":"s3cret"}}'}}}`,
			want: `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"v1","kind":"Secret","stringData":{"a":"[6 bytes]"}}'}}}`,
		},
		"LastAppliedOfNoKind": {
			reason: "On a Secret it is a Secret, whatever it says.",
			in:     `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"a":"czNjcmV0"}}'}}}`,
			want:   `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"a":"[6 bytes]"}}'}}}`,
		},
		"LastAppliedNotJSON": {
			in:   `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: 's3cret {'}}}`,
			want: `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "[8 bytes]"}}}`,
		},
		"NestedInMapAndList": {
			in:   `{spec: {manifests: [{apiVersion: v1, kind: Secret, data: {a: czNjcmV0}}]}}`,
			want: `{spec: {manifests: [{apiVersion: v1, kind: Secret, data: {a: "[6 bytes]"}}]}}`,
		},
		"NestedInJSON": {
			in:   `{a: ' {"n":1000000000000000001,"o":[{"apiVersion":"v1","kind":"Secret","data":{"a":"czNjcmV0"}}],"h":"<&>"}'}`,
			want: `{a: '{"h":"<&>","n":1000000000000000001,"o":[{"apiVersion":"v1","data":{"a":"[6 bytes]"},"kind":"Secret"}]}'}`,
		},
		"NestedInJSONInJSON": {
			in:   `{a: '{"b":"{\"kind\":\"Secret\",\"stringData\":{\"a\":\"s3cret\"}}"}'}`,
			want: `{a: '{"b":"{\"kind\":\"Secret\",\"stringData\":{\"a\":\"[6 bytes]\"}}"}'}`,
		},
		"NestedInYAML": {
			in:   `{a: "x: z\n---\napiVersion: v1\nkind: Secret\nstringData: {a: s3cret}\n---\njust text\n"}`,
			want: `{a: "x: z\n---\napiVersion: v1\nkind: Secret\nstringData:\n  a: '[6 bytes]'\n---\njust text\n"}`,
		},
		"TextIsText": {
			reason: "A text without a Secret stays as it is, to the byte.",
			in:     `{a: "{ \"kind\" : \"ConfigMap\", \"b\": \"Secret\" }", b: "a Secret: is\nno: Secret", c: "Secret", d: "{Secret"}`,
			want:   `{a: "{ \"kind\" : \"ConfigMap\", \"b\": \"Secret\" }", b: "a Secret: is\nno: Secret", c: "Secret", d: "{Secret"}`,
		},
		"SecretList": {
			reason: "Items of a list leave out what they are.",
			in:     `{apiVersion: v1, kind: SecretList, items: [{data: {a: czNjcmV0}}]}`,
			want:   `{apiVersion: v1, kind: SecretList, items: [{data: {a: "[6 bytes]"}}]}`,
		},
		"OtherSecret": {
			reason: "Not every kind Secret is that of Kubernetes.",
			in:     `{apiVersion: secretsmanager.aws.upbound.io/v1beta1, kind: Secret, data: {a: b}}`,
			want:   `{apiVersion: secretsmanager.aws.upbound.io/v1beta1, kind: Secret, data: {a: b}}`,
		},
		"ConfigMap": {in: `{apiVersion: v1, kind: ConfigMap, data: {a: czNjcmV0}}`, want: `{apiVersion: v1, kind: ConfigMap, data: {a: czNjcmV0}}`},
		"Reference": {in: `{ref: {apiVersion: v1, kind: Secret, name: x}}`, want: `{ref: {apiVersion: v1, kind: Secret, name: x}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in, want := parseTestYAML(t, tc.in), parseTestYAML(t, tc.want)
			if diff := cmp.Diff(want, maskSecrets(in)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(parseTestYAML(t, tc.in), in); diff != "" {
				t.Errorf("the input was changed: %s", diff)
			}
		})
	}
}

func parseTestYAML(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzMaskSecretsHidesValue: however often a Secret is wrapped, its value is not
// in what is printed.
func FuzzMaskSecretsHidesValue(f *testing.F) {
	f.Add("password", "s3cret-v4lue", uint16(0))
	f.Add("a.b", "line\nline\t\"quoted\" \\ <&>", uint16(0b11_01_10))
	f.Add("kind", "Secret: {data: []}", uint16(0b01_11_10_11))
	f.Add("\x7f", "0", uint16(0b10_10_01_10)) // a string that is JSON, but not YAML
	f.Fuzz(func(t *testing.T, key, value string, wraps uint16) {
		if len(key)+len(value) > 64 {
			t.Skip("each wrap may double it")
		}
		value = "canary" + value
		secret := map[string]any{
			"apiVersion": "v1", "kind": "Secret", "data": map[string]any{key: base64.StdEncoding.EncodeToString([]byte(value))},
			"stringData": map[string]any{key: value},
		}
		var v any = secret
		for ; wraps > 0; wraps >>= 2 {
			v = wrapSecret(t, v, wraps&3)
		}
		out, err := json.Marshal(maskSecrets(v))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ReplaceAll(string(out), key, ""), "canary") || strings.Contains(string(out), "Y2FuYXJ5") {
			t.Errorf("value is in %s", out)
		}
	})
}

func wrapSecret(t *testing.T, v any, how uint16) any {
	t.Helper()
	switch how {
	case 0:
		return map[string]any{"manifest": v}
	case 1:
		return []any{"text", v}
	case 2:
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	default:
		b, err := yaml.Marshal(map[string]any{"a": v})
		if err != nil {
			t.Skip("no YAML holds this")
		}
		return string(b)
	}
}

// The canaries of TestRenderCanaries. None is made of words that the files hold.
var canaries = []string{"Zq7-observed", "Zq7+conn/ection==", "Zq7\nrequired\nlines\n", "Zq7\"desired\"", "Zq7-published", "Zq7 nested"}

const canaryFiles = `
apiVersion: v1
kind: Secret
metadata: {name: conn, namespace: default}
stringData: {password: Zq7+conn/ection==, lines: "Zq7\nrequired\nlines\n", region: eu-west-1, host: shared.example.org}
---
apiVersion: kubernetes.crossplane.io/v1alpha2
kind: Object
metadata: {name: o}
spec: {forProvider: {manifest: {apiVersion: v1, kind: Secret, stringData: {p: Zq7 nested}}}}
`

// TestRenderCanaries: whatever the function answers, no value of a Secret or a
// connection detail is in a line on stderr, in an error, or in an object, unless
// it is asked for with ShowSecrets.
func TestRenderCanaries(t *testing.T) {
	var said, data, details, labels, statuses strings.Builder
	for i, c := range canaries {
		for j, e := range []string{c, base64.StdEncoding.EncodeToString([]byte(c)), url.QueryEscape(c), jsonOf(c)} {
			fmt.Fprintf(&said, "- {severity: SEVERITY_WARNING, message: %s}\n", jsonOf("value "+e+" is bad"))
			fmt.Fprintf(&labels, "k%d-%d: %s, %s: x, ", i, j, jsonOf(e), jsonOf(e))
			fmt.Fprintf(&statuses, "- %s\n", jsonOf("in "+e))
		}
		fmt.Fprintf(&data, "k%d: %s, ", i, base64.StdEncoding.EncodeToString([]byte(c)))
		fmt.Fprintf(&details, "k%d: %s, ", i, base64.StdEncoding.EncodeToString([]byte(c)))
	}
	answered := `
desired:
  composite:
    resource: {status: {list: [` + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(statuses.String()), "- ", ""), "\n", ", ") + `]}}
    connectionDetails: {` + details.String() + `}
  resources:
    secret: {resource: {apiVersion: v1, kind: Secret, metadata: {labels: {` + labels.String() + `}}, data: {` + data.String() + `}}}
    config: {resource: {apiVersion: v1, kind: ConfigMap, data: {` + labels.String() + `region: eu-west-1, host: shared.example.org, made: demo.default.eu}}}
context: {secret: {apiVersion: v1, kind: Secret, data: {` + data.String() + `}}, text: {` + labels.String() + `}}
conditions: [{type: ExportsReady, status: STATUS_CONDITION_FALSE, reason: Waiting, message: ` + jsonOf(strings.Join(canaries, " and ")) + `}]
results:
` + said.String()
	files := testFiles{
		"xr.yaml": strings.Replace(testXR, "size: 3", "region: eu-west-1", 1),
		"observed.yaml": strings.Replace(testDatabase, "crossplane", "crossplane", 1) + "spec: {writeConnectionSecretToRef: {name: conn}}\n---\n" + `
apiVersion: v1
kind: Secret
metadata:
  name: own
  namespace: default
  annotations: {crossplane.io/composition-resource-name: own}
data: {p: ` + base64.StdEncoding.EncodeToString([]byte("Zq7-observed")) + "}\n",
		"required.yaml": canaryFiles,
		"composition.yaml": strings.Replace(testComposition, "kind: Exports}",
			"kind: Exports, configMaps: [{name: config, data: [{key: host, nonSensitive: [db.host]}]}]}", 1),
	}
	c := renderCmd{Paths: []string{renderDir(t, files)}, IncludeContext: true, IncludeFullXR: true, IncludeFunctionResults: true}
	fatal := strings.Replace(answered, "severity: SEVERITY_WARNING", "severity: SEVERITY_FATAL", 1)

	for name, script := range map[string]func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error){
		"Answer": renderAnswer(t, answered),
		"Fatal":  renderAnswer(t, fatal),
		// An error comes without an answer: only what the files hold is known.
		"Error": func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			return nil, errors.New(strings.Join(append(canaries[:3:3], canaries[5]), " and "))
		},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, failure := rendered(t, c, &fakeFunction{script: script})
			for _, text := range []string{stdout, stderr, failure} {
				if i := strings.Index(text, "Zq7"); i >= 0 {
					t.Errorf("a canary is out: %s", text[max(0, i-80):min(len(text), i+80)])
				}
				if i := strings.Index(text, "WnE3"); i >= 0 {
					t.Errorf("a canary is out, in base64: %s", text[max(0, i-80):min(len(text), i+80)])
				}
			}
			if name != "Answer" {
				return
			}
			for _, want := range []string{"region: eu-west-1", "host: shared.example.org", "made: demo.default.eu"} {
				if !strings.Contains(stdout, want) {
					t.Errorf("%s is no secret, and not there:\n%s", want, stdout)
				}
			}
			if n := strings.Count(stderr, "\n"); n != 4*len(canaries)+1 {
				t.Errorf("%d lines on stderr, want one for each of %d results and a condition:\n%s", n, 4*len(canaries), stderr)
			}
		})
	}

	t.Run("Shown", func(t *testing.T) {
		c.ShowSecrets = true
		stdout, stderr, _ := rendered(t, c, &fakeFunction{script: renderAnswer(t, answered)})
		if got := strings.Count(stdout, base64.StdEncoding.EncodeToString([]byte("Zq7-published"))); got < 3 {
			t.Errorf("a value is shown %d times, want it in Secret, context and connection details:\n%s", got, stdout)
		}
		if strings.Contains(stderr, "Zq7") {
			t.Error("--show-secrets shows them on stderr, too")
		}
	})
}

func jsonOf(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
