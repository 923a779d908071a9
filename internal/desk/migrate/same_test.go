package migrate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A detail of the Compositions that are fuzzed.
type detail struct {
	Name                    string  `json:"name"`
	Type                    string  `json:"type"`
	FromConnectionSecretKey *string `json:"fromConnectionSecretKey,omitempty"`
	FromFieldPath           *string `json:"fromFieldPath,omitempty"`
	Value                   *string `json:"value,omitempty"`
}

// composition has one resource with the details.
func composition(name string, details []detail) map[string]any {
	var list []any
	b, err := json.Marshal(details)
	if err != nil {
		panic(err)
	}
	_ = json.Unmarshal(b, &list)
	return map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"mode": "Pipeline", "pipeline": []any{map[string]any{"step": name,
			"input": map[string]any{
				"apiVersion": "pt.fn.crossplane.io/v1beta1", "kind": "Resources",
				"resources": []any{map[string]any{"name": name, "connectionDetails": list}},
			}}}},
	}
}

// What function-patch-and-transform makes of connection details: each one alone, and
// one that has no value is left out.
func patchedAndTransformed(o map[string]any, secret map[string][]byte, details []detail) map[string]string {
	out := map[string]string{}
	for _, d := range details {
		switch d.Type {
		case "FromValue":
			out[d.Name] = *d.Value
		case "FromConnectionSecretKey":
			if v, ok := secret[*d.FromConnectionSecretKey]; ok {
				out[d.Name] = string(v)
			}
		case "FromFieldPath":
			v, err := fieldpath.Pave(o).GetValue(*d.FromFieldPath)
			if s, ok := v.(string); ok && err == nil {
				out[d.Name] = s
			} else if b, bad := json.Marshal(v); err == nil && bad == nil {
				out[d.Name] = string(b)
			}
		}
	}
	return out
}

// exported is the data of the Secret that a step composes, or nil, and why.
func exported(t testing.TB, input *structpb.Struct, name string, o map[string]any,
	secret map[string][]byte) (map[string]string, string) {
	t.Helper()
	composed, err := structpb.NewStruct(o)
	if err != nil {
		t.Fatal(err)
	}
	composite := map[string]any{"apiVersion": "example.org/v1", "kind": "XR",
		"metadata": map[string]any{"name": "xr", "namespace": "team", "uid": "u"}}
	data, where, why := composedSecret(t, input, composite,
		map[string]observation.Resource{name: {Object: wire.Of(composed), Details: observation.Details(secret)}})
	if data != nil && where != "team/xr-connection" {
		t.Errorf("the Secret is %s", where)
	}
	return data, why
}

// composedSecret is the data of the first object that a step composes, and where it is, or why there is
// none.
func composedSecret(t testing.TB, input *structpb.Struct, composite map[string]any,
	resources map[string]observation.Resource) (data map[string]string, where, why string) {
	t.Helper()
	p, faults := plan.Compile(context.Background(), env, input)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	xr, err := structpb.NewStruct(composite)
	if err != nil {
		t.Fatal(err)
	}
	req := &reconcile.Request{
		Observation: observation.Observation{Composite: observation.Resource{Object: wire.Of(xr)},
			Resources: resources},
		Found: map[string][]wire.Struct{},
	}
	r, err := reconcile.Run(context.Background(), p, req)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range r.Requirements {
		req.Found[q.Key()] = nil // nothing is there yet
	}
	if r, err = reconcile.Run(context.Background(), p, req); err != nil {
		t.Fatal(err)
	}
	x := r.Objects[0]
	if x.Desired == nil {
		return nil, "", x.Message
	}
	_, _, ns, name := object.Identity(wire.Of(x.Desired))
	values, err := object.DataOf(wire.Of(x.Desired))
	if err != nil {
		t.Fatal(err)
	}
	data = map[string]string{}
	for k, v := range values {
		data[k] = string(v.Reveal())
	}
	return data, ns + "/" + name, ""
}

// Where all connection details have a value, the Secret has what it had before.
func TestSameSecret(t *testing.T) {
	at := func(path string) detail { return detail{Type: "FromFieldPath", FromFieldPath: &path} }
	key := func(k string) detail { return detail{Type: "FromConnectionSecretKey", FromConnectionSecretKey: &k} }
	value := func(v string) detail { return detail{Type: "FromValue", Value: &v} }
	o := map[string]any{
		"apiVersion": "example.org/v1", "kind": "DB",
		"metadata": map[string]any{"name": "db-1", "namespace": "team", "generation": 3.0,
			"odd":         map[string]any{"flag": true},
			"annotations": map[string]any{"crossplane.io/external-name": "ext", "it's": "odd"}},
		"spec": map[string]any{"package": "p", "in": map[string]any{"true": "reserved"}, "0": "zero",
			"größe": "unicode", "a-b": "dash", `back\slash`: "bs"},
		"status": map[string]any{
			"address": "db.example.org", "port": 5432.0, "ratio": 1.5, "ready": true, "off": false,
			"big":       9007199254740992.0,
			"negative":  -7.0,
			"addresses": []any{map[string]any{"ip": "10.0.0.1"}, "two"}, "matrix": []any{[]any{"a", "b"}},
		},
	}
	secret := map[string][]byte{"username": []byte("u"), "ca.crt": []byte("-----\n"), "it's": []byte("x"),
		"binary": {0xff, 0}}
	details := []detail{
		at("status.address"), at("status.port"), at("status.ratio"), at("status.ready"), at("status.off"),
		at("status.big"), at("status.negative"),
		at("status.addresses[0].ip"), at("status.addresses[1]"), at("status.matrix[0][1]"),
		at("metadata.annotations[crossplane.io/external-name]"),
		at(`metadata.annotations["crossplane.io/external-name"]`), at("metadata.annotations[it's]"), at("spec.package"),
		at("spec.in.true"), at("spec.0"),
		at("spec.größe"), at("spec.a-b"), at(`spec.back\slash`), at("metadata.name"), at("kind"),
		at("metadata.generation"), at("metadata.odd.flag"),
		key("username"), key("ca.crt"), key("it's"),
		value("5432"), value("it's \"q\" \\n \n\t"), value("' + secrets.db.username + '"), value("\u0000\u2028😀"),
		value(" "),
	}
	for i := range details {
		details[i].Name = "key-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	for _, name := range []string{"db", "my db's", "in", "a.b", `\`} {
		r, faults := migrate.Migrate(context.Background(), env,
			[]migrate.Document{{Name: "doc", Value: composition(name, details)}})
		if r == nil {
			t.Fatal(faults)
		}
		_, inputs := steps(t, r.YAML)
		got, why := exported(t, inputs[0], name, o, secret)
		if diff := cmp.Diff(patchedAndTransformed(o, secret, details), got); diff != "" {
			t.Errorf("%q: -want, +got:\n%s\n%s", name, diff, why)
		}
	}
}

// FuzzMigratedTemplateCompiles: whatever a Go template composes, the step compiles, and has the same bytes again.
func FuzzMigratedTemplateCompiles(f *testing.F) {
	const head = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	f.Add(head + "data: {a: {{ .observed.resources.db.connectionDetails.x }}}")
	f.Add(head + "stringData:\n  {{ if .observed.resources.db }}\n  a: {{ $.x | quote }}\n  {{ else }}\n  b: c\n{{ " +
		"end }}")
	f.Add("{{ range .x }}\n---\n" + head + "{{ end }}\n---\n" + head + "stringData: {a: '{{ dig \"a\" 1 " +
		".observed.composite.resource }}'}")
	f.Add(head + "stringData: {'it''s': \"{{ index .context \"a.b\" 0 \"c\" | default 5 | int | printf \"%d%%\" " +
		"}}\"}\n# {{ .a }}")
	f.Add("{{ with $x := .observed.resources.db }}{{ $y := $x }}" + head + "data: {a: {{ $y.connectionDetails.a | " +
		"default \"YQ==\" }}}{{ end }}")
	f.Add("{{ if .observed.resources.db }}\n" + head + "{{ end }}\ndata: {a: YQ==}")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip("a text in YAML is valid UTF-8")
		}
		documents := []migrate.Document{{Name: "doc", Value: templatedComposition(text)}}
		r, faults := migrate.Migrate(context.Background(), env, documents)
		if r == nil {
			if len(faults) == 0 {
				t.Error("neither a result nor a fault")
			}
			return
		}
		steps(t, r.YAML)
		again, _ := migrate.Migrate(context.Background(), env, documents)
		if again == nil || !bytes.Equal(again.YAML, r.YAML) {
			t.Error("the same input gave other bytes")
		}
	})
}
