package object

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

func kindFor(configMap bool) Kind {
	if configMap {
		return ConfigMap
	}
	return Secret
}

// decoded is what the API server makes of a Secret's or a ConfigMap's JSON: the
// part of the types in k8s.io/api/core/v1 that matters here.
func decoded(t *testing.T, kind Kind, raw []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	secret := struct{ Data map[string][]byte }{}
	configMap := struct {
		Data       map[string]string
		BinaryData map[string][]byte
	}{}
	into := any(&secret)
	if kind == ConfigMap {
		into = &configMap
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("the API server cannot decode the object: %v", err)
	}
	for key, value := range configMap.Data {
		out[key] = value
	}
	for _, data := range []map[string][]byte{secret.Data, configMap.BinaryData} {
		for key, value := range data {
			out[key] = string(value)
		}
	}
	return out
}

// Every key and every byte that goes into Struct is found again by DataOf, after
// the way over the wire, and by the API server.
func FuzzStructRoundTrips(f *testing.F) {
	f.Add(false, "password", []byte("hunter2"), "ca.crt", []byte("-----BEGIN CERTIFICATE-----\n"))
	f.Add(false, "bin", []byte{0, 0xff, 0xfe}, "empty", []byte{})
	f.Add(true, "bin", []byte{0xff}, "text", []byte("ä\x00\u2028\"\\<&>"))
	f.Add(true, "half-a-rune", []byte("\xe2\x82"), "replacement", []byte("\ufffd"))
	f.Add(true, "same", []byte("a"), "same", []byte("b"))
	f.Fuzz(func(t *testing.T, configMap bool, keyA string, a []byte, keyB string, b []byte) {
		if !utf8.ValidString(keyA) || !utf8.ValidString(keyB) {
			t.Skip("protobuf carries no such key, and Validate refuses it")
		}
		o := Object{Kind: kindFor(configMap), Name: "a", Namespace: "b", Data: map[string]sensitive.Bytes{
			keyA: sensitive.New(a),
			keyB: sensitive.New(b),
		}}
		s := &structpb.Struct{}
		if err := proto.Unmarshal(marshal(t, o.Struct()), s); err != nil {
			t.Fatal(err)
		}
		want := reveal(o.Data)
		got, err := DataOf(sent(t, s))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, reveal(got)); diff != "" {
			t.Errorf("DataOf(Struct()): -want, +got:\n%s", diff)
		}
		if Changed(sent(t, s), &o) {
			t.Errorf("what was just made has changed")
		}
		raw, err := protojson.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, decoded(t, o.Kind, raw)); diff != "" {
			t.Errorf("the API server: -want, +got:\n%s", diff)
		}
	})
}

// The API server's rules as its documentation states them, apart from the
// functions that Validate uses.
var (
	dnsLabel   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,}[a-z0-9])?$`)
	dataKey    = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)
	namePart   = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValue = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
)

func isName(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !dnsLabel.MatchString(part) {
			return false
		}
	}
	return len(s) <= 253
}

func isNamespace(s string) bool { return len(s) <= 63 && dnsLabel.MatchString(s) }

func isKey(s string) bool {
	return dataKey.MatchString(s) && s != "." && !strings.HasPrefix(s, "..")
}

func isMetadataKey(s string) bool {
	prefix, name, found := strings.Cut(s, "/")
	if !found {
		return namePart.MatchString(s)
	}
	return isName(prefix) && namePart.MatchString(name)
}

func isReserved(key string) bool {
	return strings.HasPrefix(key, "export.fn.crossplane.io/")
}

// An object passes Validate exactly if its names, keys and metadata follow the API server's rules,
// and are not reserved.
func FuzzValidateRefusesWhatTheAPIServerRefuses(f *testing.F) {
	f.Add(false, "db", "shop", "password", "team", "payments", "example.org/host", "db.local")
	f.Add(true, "a.b-c", "0", ".dockerconfigjson", "app.kubernetes.io/name", "", "Example.ORG/Host", "any\ntext")
	valid := []string{"db", "shop", "password", "team", "payments", "example.org/host", "db.local"}
	for i, faults := range [][]string{
		{"", "DB", "a..b", "db\n", strings.Repeat("a", 254)},
		{"", "a.b", "-a", "shop\n", strings.Repeat("a", 64)},
		{"", ".", "..", "..data", "user name", "key\n", "\xff", strings.Repeat("a", 254)},
		{"", "a/b/c", "/a", "Example.org/a", "export.fn.crossplane.io/a", "crossplane.io/composite", strings.Repeat("a", 64)},
		{"-", "a b", "x\n", "\xff", strings.Repeat("a", 64)},
		{"", "a/b/c", "export.fn.crossplane.io/b", "crossplane.io/composition-resource-name", "\xff"},
		{"\xff", strings.Repeat("a", 256<<10)},
	} {
		for _, fault := range faults {
			in := slices.Clone(valid)
			in[i] = fault
			f.Add(false, in[0], in[1], in[2], in[3], in[4], in[5], in[6])
		}
	}
	f.Fuzz(func(t *testing.T, configMap bool, name, namespace, key, label, value, annotation, text string) {
		o := Object{
			Kind: kindFor(configMap), Name: name, Namespace: namespace,
			Labels: map[string]string{label: value}, Annotations: map[string]string{annotation: text},
			Data: map[string]sensitive.Bytes{key: sensitive.FromString(canary)},
		}
		_, crossplanes := crossplaneLabels[label]
		_, crossplanesToo := crossplaneAnnotations[annotation]
		want := isName(name) && isNamespace(namespace) && isKey(key) &&
			isMetadataKey(label) && labelValue.MatchString(value) && !isReserved(label) && !crossplanes && isMetadataKey(
			strings.ToLower(annotation),
		) && utf8.ValidString(text) && !isReserved(annotation) && !crossplanesToo && len(annotation)+len(text) <= 256<<10
		errs := o.Validate()
		if got := len(errs) == 0; got != want {
			t.Errorf("want valid %t, got %v", want, errs)
		}
		if want {
			marshal(t, o.Struct())
		}
	})
}

// No text that Validate or DataOf returns holds a value of the data, and each is
// one short line.
func FuzzErrorsShowNoValue(f *testing.F) {
	for typ := range requiredKeys {
		f.Add(false, "db", typ, ".dockerconfigjson", "", "")
		f.Add(false, "db", typ, ".dockercfg", `{"auths":`, "")
		f.Add(false, "DB\n", typ, "user name", `{"`, `":1e999}`)
	}
	f.Add(true, "db", "Opaque", "..", "", "")
	f.Add(true, strings.Repeat("ä", 500), "", "\xff", "\x00", "\n")
	f.Fuzz(func(t *testing.T, configMap bool, name, typ, key, before, after string) {
		value := before + canary + after
		if strings.Contains(name+"\n"+typ+"\n"+key, canary) {
			t.Skip("the canary is no secret")
		}
		o := Object{
			Kind: kindFor(configMap), Name: name, Namespace: name, Type: typ,
			Labels: map[string]string{
				key: value,
			}, Annotations: map[string]string{key: value + "\xff"}, State: map[string]string{key: value},
			Data: map[string]sensitive.Bytes{key: sensitive.FromString(value), "tls.crt": sensitive.FromString(value)},
		}
		errs := messages(o.Validate())
		s := &structpb.Struct{Fields: map[string]*structpb.Value{
			"apiVersion": structpb.NewStringValue("v1"),
			"kind":       structpb.NewStringValue(string(o.Kind)),
			"data":       structOf(map[string]*structpb.Value{key: structpb.NewStringValue(value)}),
			"binaryData": structOf(map[string]*structpb.Value{key: structpb.NewStringValue(value)}),
		}}
		_, err := DataOf(wire.Of(s))
		errs = append(errs, message(err))
		if utf8.ValidString(key) && utf8.ValidString(value) { // protobuf carries nothing else
			_, ofBytes := DataOf(sent(t, s))
			if diff := cmp.Diff(message(err), message(ofBytes)); diff != "" {
				t.Errorf("over bytes: -want, +got:\n%s", diff)
			}
		}
		assertNoCanary(t, errs...)
		for _, err := range errs {
			if strings.ContainsAny(err, "\n\r") || !utf8.ValidString(err) || len(err) > 1000 {
				t.Errorf("not one short line: %q", err)
			}
		}
	})
}

// Held is idempotent, loses no key of data, takes nothing that is not the
// user's or ours, and leaves what it is given alone, whatever that is.
func FuzzHeldLosesNoKey(f *testing.F) {
	f.Add(false, observedSecret)
	f.Add(true, `{"metadata": {"name": "a", "labels": {"a": null}}, "data": {"t": "x"}, "binaryData": {"b": `+
		`"//4="}, "immutable": true}`)
	f.Add(false, `{"metadata": null, "data": null, "type": null, "immutable": null}`)
	f.Add(false, `{"metadata": {"annotations": {"export.fn.crossplane.io/generation": "7"}}, "data": {"a": 1, "b": `+
		`{}, "c": null, "d": ["x"]}}`)
	f.Add(false, `{"metadata": [], "data": "x", "binaryData": 1}`)
	f.Fuzz(func(t *testing.T, configMap bool, raw string) {
		in := &structpb.Struct{}
		if err := protojson.Unmarshal([]byte(raw), in); err != nil {
			t.Skip("not a Struct")
		}
		if in.GetFields() == nil {
			in.Fields = fields(2)
		}
		in.GetFields()["apiVersion"] = structpb.NewStringValue("v1")
		in.GetFields()["kind"] = structpb.NewStringValue(string(kindFor(configMap)))
		before := proto.CloneOf(in)
		held := Held(wire.Of(in))
		assertSame(t, "the observed object was modified", before, in)
		assertSame(t, "Held(Held(x)) is not Held(x)", held, Held(wire.Of(held)))
		bytes := sent(t, in)
		assertSame(t, "over bytes Held is another", held, Held(bytes))
		assertSame(t, "the bytes were modified", before, bytes.Proto())
		for _, field := range []string{"data", "binaryData"} {
			want := &structpb.Struct{Fields: in.GetFields()[field].GetStructValue().GetFields()}
			got := &structpb.Struct{Fields: held.GetFields()[field].GetStructValue().GetFields()}
			assertSame(t, field, want, got)
		}
		assertFields(t, held.GetFields(), "apiVersion", "kind", "metadata", "type", "immutable", "data", "binaryData")
		assertFields(
			t,
			held.GetFields()["metadata"].GetStructValue().GetFields(),
			"name",
			"namespace",
			"labels",
			"annotations",
		)
	})
}

// assertSame compares Structs; an empty one and none are the same.
func assertSame(t *testing.T, what string, want, got *structpb.Struct) {
	t.Helper()
	if !proto.Equal(want, got) {
		t.Errorf("%s: -want, +got:\n%s", what, cmp.Diff(want, got, protocmp.Transform()))
	}
}

func assertFields(t *testing.T, got map[string]*structpb.Value, allowed ...string) {
	t.Helper()
	for name := range got {
		if !strings.Contains(" "+strings.Join(allowed, " ")+" ", " "+name+" ") {
			t.Errorf("field %q must not be held", name)
		}
	}
}
