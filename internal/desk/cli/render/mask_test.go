package render

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// testCode has the form of a code that is keyed with values.
const testCode = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// TestMaskSecrets: the places of the values of a Secret, and the text that replaces them.
func TestMaskSecrets(t *testing.T) {
	cases := map[string]struct {
		reason   string
		in, want string
	}{
		"Data": {in: `{apiVersion: v1, kind: Secret, type: Opaque, data: {a: czNjcmV0}}`,
			want: `{apiVersion: v1, kind: Secret, type: Opaque, data: {a: "[6 bytes]"}}`},
		"StringData": {in: `{apiVersion: v1, kind: Secret, stringData: {a: grüße, b: ""}}`,
			want: `{apiVersion: v1, kind: Secret, stringData: {a: "[7 bytes]", b: "[0 bytes]"}}`},
		"NoData": {in: `{apiVersion: v1, kind: Secret, data: null}`, want: `{apiVersion: v1, kind: Secret, data: {}}`},
		"NotBase64": {in: `{apiVersion: v1, kind: Secret, data: {a: s3cret!}}`,
			want: `{apiVersion: v1, kind: Secret, data: {a: "[not base64]"}}`},
		"NotStrings": {in: `{apiVersion: v1, kind: Secret, data: {a: 5, b: [s3cret], c: {d: s3cret}, e: null}}`,
			want: `{apiVersion: v1, kind: Secret, data: {a: "[not a string]", b: "[not a string]", c: "[not a string]", e: ` +
				`"[not a string]"}}`},
		"NotAMap": {in: `{apiVersion: v1, kind: Secret, data: s3cret, stringData: [s3cret]}`,
			want: `{apiVersion: v1, kind: Secret, data: "[6 bytes]", stringData: "[not a string]"}`},
		"Metadata": {
			reason: "All else of a Secret stays.",
			in: `{apiVersion: v1, kind: Secret, metadata: {name: data, labels: {data: x}, annotations: {data: x}}, ` +
				`immutable: true}`,
			want: `{apiVersion: v1, kind: Secret, metadata: {name: data, labels: {data: x}, annotations: {data: x}}, ` +
				`immutable: true}`,
		},
		"LastApplied": {
			in: `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"v1","kind":"Secret","stringData":{"a":"s3cret"}}'}}}`,
			want: `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: ` +
				`"[63 bytes]"}}}`,
		},
		"CopiesOfAnything": {
			reason: "A copy of any object may hold a Secret.",
			in: `{apiVersion: example.org/v1, kind: Object,
			  metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"kind":"Object","spec":{"manifest":{"kind":"Secret","stringData":{"a":"s3cret"}}}}', kapp.k14s.io/original: s3cret, a: b}},
				status: {manifest: {metadata: {annotations: {kopf.zalando.org/last-handled-configuration: s3cret}}}}, items: [{objectset.rio.cattle.io/applied: s3cret, banzaicloud.com/last-applied: [s3cret]}]}`,
			want: `{apiVersion: example.org/v1, kind: Object,
			  metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "[83 bytes]",
			    kapp.k14s.io/original: "[6 bytes]", a: b}},
				status: {manifest: {metadata: {annotations: {kopf.zalando.org/last-handled-configuration: "[6 bytes]"}}}}, items: [{objectset.rio.cattle.io/applied: "[6 bytes]", banzaicloud.com/last-applied: "[not a string]"}]}`,
		},
		"InsideOfASecret": {
			reason: "What a Secret holds beside its data is masked as of anything else.",
			in:     `{apiVersion: v1, kind: Secret, metadata: {x: {apiVersion: v1, kind: Secret, data: {a: czNjcmV0}}}}`,
			want:   `{apiVersion: v1, kind: Secret, metadata: {x: {apiVersion: v1, kind: Secret, data: {a: "[6 bytes]"}}}}`,
		},
		"NestedInMapAndList": {
			in:   `{spec: {manifests: [{apiVersion: v1, kind: Secret, data: {a: czNjcmV0}}]}}`,
			want: `{spec: {manifests: [{apiVersion: v1, kind: Secret, data: {a: "[6 bytes]"}}]}}`,
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
		"Seal": {
			reason: "A seal is keyed with the data: values that are easy to guess can be tried against it.",
			in:     `{apiVersion: v1, kind: Secret, metadata: {annotations: {export.fn.crossplane.io/export-state: '{"specHash":"0123456789abcdef0123456789abcdef","seal":"` + testCode + `"}'}}}`,
			want:   `{apiVersion: v1, kind: Secret, metadata: {annotations: {export.fn.crossplane.io/export-state: '{"specHash":"0123456789abcdef0123456789abcdef","seal":"[64 bytes]"}'}}}`,
		},
		"Codes": {
			reason: "The rest of a record is shown.",
			in: `{spec: {metadata: {annotations: {export.fn.crossplane.io/generator-state: ` +
				`'{"state":{},"follows":[{"generation":1,"codes":["` + testCode + `","` + testCode + `"]}]}'}}}}`,
			want: `{spec: {metadata: {annotations: {export.fn.crossplane.io/generator-state: ` +
				`'{"state":{},"follows":[{"generation":1,"codes":["[64 bytes]","[64 bytes]"]}]}'}}}}`,
		},
		"OtherAnnotation": {
			reason: "A checksum that a user sets is not ours.",
			in:     `{metadata: {annotations: {example.org/checksum: ` + testCode + `}}}`,
			want:   `{metadata: {annotations: {example.org/checksum: ` + testCode + `}}}`,
		},
		"ConfigMap": {in: `{apiVersion: v1, kind: ConfigMap, data: {a: czNjcmV0}}`,
			want: `{apiVersion: v1, kind: ConfigMap, data: {a: czNjcmV0}}`},
		"Reference": {in: `{ref: {apiVersion: v1, kind: Secret, name: x}}`,
			want: `{ref: {apiVersion: v1, kind: Secret, name: x}}`},
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
			v = wrapSecret(v, wraps&3)
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

func wrapSecret(v any, how uint16) any {
	if how%2 == 0 {
		return map[string]any{"manifest": v}
	}
	return []any{"text", v}
}

// TestRenderMasks: of no example is a value of a Secret printed, of its files or one that
// is made, unless it is asked for.
func TestRenderMasks(t *testing.T) {
	shown, codes := 0, 0
	for _, dir := range functiontest.ExampleDirs(t) {
		f := functiontest.ExampleFunction(t, dir)
		stdout, stderr, failure := rendered(t, Command{Paths: []string{dir}, IncludeContext: true, IncludeFullXR: true,
			IncludeFunctionResults: true}, f)
		all, _, _ := rendered(t, Command{Paths: []string{dir}, ShowSecrets: true}, f)
		for _, code := range regexp.MustCompile(`export\.fn\.crossplane\.io.*\b[0-9a-f]{64}\b`).FindAllString(stdout+stderr+
			failure, -1) {
			t.Errorf("%s: the code %s is printed", dir, code)
		}
		codes += strings.Count(all, `"seal":"`) - strings.Count(all, "[64 bytes]")
		for plain, key := range secretsOf(t, dir, all) {
			for _, secret := range []string{plain, base64.StdEncoding.EncodeToString([]byte(plain))} {
				if strings.Contains(stdout+stderr+failure, secret) {
					t.Errorf("%s: the value of %s is printed", dir, key)
				}
				if strings.Contains(all, secret) {
					shown++
				}
			}
		}
	}
	if shown == 0 || codes == 0 {
		t.Errorf("--show-secrets shows %d values and %d seals", shown, codes)
	}
}

// parseRendered is the value of each document of a text.
func parseRendered(t testing.TB, text string) []any {
	t.Helper()
	docs, err := document.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out []any
	for _, d := range docs {
		out = append(out, d.Value())
	}
	return out
}

// secretsOf an example are the values in its Secrets, and in those that are rendered,
// with a name for each.
func secretsOf(t *testing.T, dir, rendered string) map[string]string {
	t.Helper()
	docs := parseRendered(t, rendered)
	for _, file := range []string{"observed.yaml", "required.yaml"} {
		more, err := (&inputs{system: terminal.Disk(nil)}).all([]string{filepath.Join(dir, file)})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, d := range more {
			docs = append(docs, d.fields)
		}
	}
	out := map[string]string{}
	for _, d := range docs {
		fields := d.(map[string]any)
		data, _ := fields["data"].(map[string]any)
		for key, v := range data {
			encoded, _ := v.(string)
			plain, err := base64.StdEncoding.DecodeString(encoded)
			if state.RefIn(fields).Kind != "Secret" || err != nil || len(plain) < 8 {
				continue // a port or a region may be anywhere
			}
			out[string(plain)] = state.RefIn(fields).Name + "/" + key
		}
	}
	return out
}
