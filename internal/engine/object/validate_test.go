package object

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

var sprintf = fmt.Sprintf // not checked by vet: any verb has to do

func assertNoCanary(t testing.TB, outputs ...string) {
	t.Helper()
	for _, output := range outputs {
		if strings.Contains(output, canary) || strings.Contains(output, fmt.Sprintf("%x", canary)) {
			t.Errorf("a value is shown: %s", output)
		}
	}
}

// The limit is that of the API server, whose package is too large to import.
func TestMaxMetadataBytes(t *testing.T) {
	if MaxMetadataBytes != apivalidation.TotalAnnotationSizeLimitB {
		t.Errorf("want %d, got %d", apivalidation.TotalAnnotationSizeLimitB, MaxMetadataBytes)
	}
}

// messages makes errors comparable.
func messages(errs []error) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestValidate(t *testing.T) {
	valid := func(change func(*Object)) Object {
		o := Object{Kind: Secret, Name: "db", Namespace: "shop", Data: texts(map[string]string{"password": canary})}
		change(&o)
		return o
	}
	cases := map[string]struct {
		reason string
		in     Object
		want   []string
	}{
		"Valid": {
			reason: "an ordinary Secret passes",
			in:     valid(func(*Object) {}),
		},
		"ValidWithAll": {
			reason: "every field may be used",
			in: valid(func(o *Object) {
				o.Labels = map[string]string{"app.kubernetes.io/name": "db", "Team_1": "A.b-c", "empty": ""}
				o.Annotations = map[string]string{"Example.ORG/host": "any\ntext ä", "note": ""}
				o.State = map[string]string{StatePrefix + "generation": "7"}
				o.Type, o.Immutable = "example.org/own-type", new(true)
				o.Data["empty"] = sensitive.Bytes{}
			}),
		},
		"Zero": {
			reason: "the zero object is told all that it lacks, sorted",
			in:     Object{},
			want: []string{
				`cannot compose an object without data: export at least one key`,
				`cannot compose kind "": use Secret or ConfigMap`,
				`cannot use an empty name: set a name for the object`,
				`cannot use an empty namespace: set a namespace for the object`,
			},
		},
		"EachFault": {
			reason: "all faults are reported at once, so that they can be mended at once",
			in: valid(func(o *Object) {
				o.Name, o.Namespace = "DB", "shop.eu"
				o.Data["user name"] = sensitive.FromString(canary)
			}),
			want: []string{
				`cannot use key "user name": use letters, digits, '-', '_' and '.' only`,
				`cannot use name "DB": use lower-case letters, digits, '-' and '.', and start and end each part between dots with a letter or a digit`,
				`cannot use namespace "shop.eu": use lower-case letters, digits and '-', and start and end with a letter or a digit`,
			},
		},
		"OneLine": {
			reason: "no name can break a message into lines, or make it endless",
			in:     valid(func(o *Object) { o.Name = "a\nb" + strings.Repeat("x", 1000) }),
			want: []string{
				`cannot use name "a\nb` + strings.Repeat("x", maxQuoted-3) + `"…: it has 1003 characters; use at most 253`,
			},
		},
		"MaxData": {
			reason: "1 MiB of values is what the API server takes; keys do not count",
			in: valid(func(o *Object) {
				o.Data = map[string]sensitive.Bytes{"a": sensitive.New(make([]byte, MaxDataBytes-1)), "b": sensitive.New(make([]byte, 1))}
			}),
		},
		"TooMuchData": {
			reason: "one byte more is refused, and the sum counts",
			in: valid(func(o *Object) {
				o.Data = map[string]sensitive.Bytes{"a": sensitive.New(make([]byte, MaxDataBytes)), "b": sensitive.New(make([]byte, 1))}
			}),
			want: []string{`cannot hold 1048577 bytes of data in one object: export fewer keys or shorter values, at most 1048576 bytes (1 MiB) together`},
		},
		"StateElsewhere": {
			reason: "state outside its prefix could be set by anybody, so it is a bug of ours",
			in:     valid(func(o *Object) { o.State = map[string]string{"example.org/generation": "7"} }),
			want:   []string{`cannot keep state in annotation "example.org/generation": use one that starts with "export.fn.crossplane.io/"`},
		},
		"StateKey": {
			reason: "the names of its annotations are checked as those of users",
			in:     valid(func(o *Object) { o.State = map[string]string{StatePrefix + "a b": "7"} }),
			want: []string{`cannot use annotation "export.fn.crossplane.io/a b": use at most 63 letters, digits, '-', '_' and '.', ` +
				`with a letter or a digit at both ends, after an optional DNS name and '/'`},
		},
		"LongKind": {
			reason: "a text of the longest length is shown in full",
			in:     valid(func(o *Object) { o.Kind = Kind(strings.Repeat("x", maxQuoted)) }),
			want:   []string{`cannot compose kind "` + strings.Repeat("x", maxQuoted) + `": use Secret or ConfigMap`},
		},
		"StateCounts": {
			reason: "the API server counts all annotations together",
			in: valid(func(o *Object) {
				o.Annotations = map[string]string{"a": strings.Repeat("x", MaxMetadataBytes/2)}
				o.State = map[string]string{StatePrefix + "a": strings.Repeat("x", MaxMetadataBytes/2)}
			}),
			want: []string{`cannot hold 262170 bytes of annotations: use at most 262144 bytes (256 KiB), keys and values together`},
		},
		"StateNotText": {
			reason: "state has to survive protobuf too",
			in:     valid(func(o *Object) { o.State = map[string]string{StatePrefix + "a": "\xff"} }),
			want:   []string{`cannot use the value of annotation "export.fn.crossplane.io/a": it is not UTF-8; encode it, for example as base64`},
		},
		"ConfigMapWithType": {
			reason: "a ConfigMap has no type, and the API server would drop or refuse the field",
			in:     valid(func(o *Object) { o.Kind, o.Type = ConfigMap, "Opaque" }),
			want:   []string{`cannot give a ConfigMap a type: only Secrets have one: leave it out`},
		},
		"TypeNotText": {
			reason: "protobuf cannot carry it",
			in:     valid(func(o *Object) { o.Type = "\xff" }),
			want:   []string{`cannot use type "\xff": it is not UTF-8`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := messages(tc.in.Validate())
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			assertNoCanary(t, got...)
		})
	}
}

func TestValidateType(t *testing.T) {
	cases := map[string]struct {
		reason   string
		typ      string
		data     map[string]string
		wantEach []string
	}{
		"Opaque":     {reason: "any data will do", typ: "Opaque", data: map[string]string{"a": ""}},
		"Own":        {reason: "the API server has no rules for a type it does not know", typ: "example.org/x", data: map[string]string{"a": ""}},
		"TLS":        {reason: "both keys are there; the API server does not look into them", typ: typeTLS, data: map[string]string{"tls.crt": "", "tls.key": canary, "ca.crt": ""}},
		"TLSHalf":    {reason: "a certificate without its key is no TLS Secret", typ: typeTLS, data: map[string]string{"tls.crt": canary}, wantEach: []string{`key "tls.key" is missing: add it to data`}},
		"TLSNothing": {reason: "both are named", typ: typeTLS, data: map[string]string{"a": canary}, wantEach: []string{`keys "tls.crt" and "tls.key" are missing: add them to data`}},

		"DockerConfig":        {reason: "any JSON object is taken", typ: typeDockerConfigJSON, data: map[string]string{".dockerconfigjson": `{"auths":{}}`}},
		"DockerConfigMissing": {reason: "the key starts with a dot", typ: typeDockerConfigJSON, data: map[string]string{"dockerconfigjson": `{}`}, wantEach: []string{`key ".dockerconfigjson" is missing: add it to data`}},
		"DockerConfigBroken":  {reason: "the error of the JSON parser is not passed on: it quotes", typ: typeDockerConfigJSON, data: map[string]string{".dockerconfigjson": canary}, wantEach: []string{`the value of key ".dockerconfigjson" is not a JSON object: export one`}},
		"DockerConfigList":    {reason: "a list is JSON, but not an object", typ: typeDockerConfigJSON, data: map[string]string{".dockerconfigjson": `["` + canary + `"]`}, wantEach: []string{`the value of key ".dockerconfigjson" is not a JSON object: export one`}},
		"DockerConfigEmpty":   {reason: "nothing is no JSON", typ: typeDockerConfigJSON, data: map[string]string{".dockerconfigjson": ""}, wantEach: []string{`the value of key ".dockerconfigjson" is not a JSON object: export one`}},
		"Dockercfg":           {reason: "the older form has the same rule", typ: typeDockercfg, data: map[string]string{".dockercfg": `{}`}},
		"DockercfgBroken":     {reason: "the older form has the same rule", typ: typeDockercfg, data: map[string]string{".dockercfg": "{" + canary}, wantEach: []string{`the value of key ".dockercfg" is not a JSON object: export one`}},
		"DockercfgMissing":    {reason: "the keys of the two forms differ", typ: typeDockercfg, data: map[string]string{".dockerconfigjson": `{}`}, wantEach: []string{`key ".dockercfg" is missing: add it to data`}},

		"BasicAuthUser":     {reason: "one of both is enough", typ: typeBasicAuth, data: map[string]string{"username": canary}},
		"BasicAuthPassword": {reason: "one of both is enough", typ: typeBasicAuth, data: map[string]string{"password": ""}},
		"BasicAuthNeither":  {reason: "neither is not", typ: typeBasicAuth, data: map[string]string{"user": canary}, wantEach: []string{`keys "username" and "password" are missing: add one of them to data`}},

		"SSH":        {reason: "any content is a key for the API server", typ: typeSSHAuth, data: map[string]string{"ssh-privatekey": canary}},
		"SSHEmpty":   {reason: "here the API server refuses an empty value too", typ: typeSSHAuth, data: map[string]string{"ssh-privatekey": ""}, wantEach: []string{`key "ssh-privatekey" is missing or empty: add it to data`}},
		"SSHMissing": {reason: "another name does not do", typ: typeSSHAuth, data: map[string]string{"id_rsa": canary}, wantEach: []string{`key "ssh-privatekey" is missing or empty: add it to data`}},

		"ServiceAccount": {reason: "a controller writes the token", typ: typeServiceAccount, data: map[string]string{"token": canary}, wantEach: []string{`Kubernetes fills Secrets of this type itself: use another type`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, cause := range tc.wantEach {
				want = append(want, fmt.Sprintf("cannot make a Secret of type %q: %s", tc.typ, cause))
			}
			o := Object{Kind: Secret, Name: "a", Namespace: "b", Type: tc.typ, Data: texts(tc.data)}
			got := messages(o.Validate())
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			assertNoCanary(t, got...)
		})
	}
}

func TestValidateMetadata(t *testing.T) {
	const forUse = ": use at most 63 letters, digits, '-', '_' and '.', with a letter or a digit at both ends, after an optional DNS name and '/'"
	const forValue = ": use at most 63 letters, digits, '-', '_' and '.', and start and end with a letter or a digit, or write an annotation, which can have any text"
	const forState = ": function-export keeps its own state there; leave it out"
	const forCrossplane = ": Crossplane sets it to find the objects of a composite again; leave it out"
	cases := map[string]struct {
		reason          string
		in              map[string]string
		wantLabels      []string
		wantAnnotations []string
	}{
		"Nil":   {reason: "none is fine"},
		"Valid": {reason: "the usual form", in: map[string]string{"example.org/a-B_c.d": "v", "a": ""}},
		"Key": {
			reason:          "a key has a form, and no value is quoted",
			in:              map[string]string{"a b": canary, "": "x", "a/b/c": "x"},
			wantLabels:      []string{`cannot use label ""` + forUse, `cannot use label "a b"` + forUse, `cannot use label "a/b/c"` + forUse},
			wantAnnotations: []string{`cannot use annotation ""` + forUse, `cannot use annotation "a b"` + forUse, `cannot use annotation "a/b/c"` + forUse},
		},
		"Case": {
			reason:     "the case of a prefix is free in annotations only",
			in:         map[string]string{"Example.org/a": "x"},
			wantLabels: []string{`cannot use label "Example.org/a"` + forUse},
		},
		"Value": {
			reason:     "a label's value has a form, an annotation's has none; it is not quoted",
			in:         map[string]string{"a": canary + " with blanks", "b": strings.Repeat("x", 64)},
			wantLabels: []string{`cannot use the value of label "a"` + forValue, `cannot use the value of label "b"` + forValue},
		},
		"NotText": {
			reason:          "protobuf carries UTF-8 only",
			in:              map[string]string{"a": canary + "\xff"},
			wantLabels:      []string{`cannot use the value of label "a"` + forValue},
			wantAnnotations: []string{`cannot use the value of annotation "a": it is not UTF-8; encode it, for example as base64`},
		},
		"State": {
			reason:          "a user who sets state could make us adopt a value of his",
			in:              map[string]string{StatePrefix + "generation": "7", StatePrefix + "any": "x"},
			wantLabels:      []string{`cannot set label "export.fn.crossplane.io/any"` + forState, `cannot set label "export.fn.crossplane.io/generation"` + forState},
			wantAnnotations: []string{`cannot set annotation "export.fn.crossplane.io/any"` + forState, `cannot set annotation "export.fn.crossplane.io/generation"` + forState},
		},
		"CrossplaneLabels": {
			reason: "Crossplane overwrites its labels anyway",
			in:     map[string]string{"crossplane.io/composite": "x", "crossplane.io/claim-name": "x", "crossplane.io/claim-namespace": "x"},
			wantLabels: []string{
				`cannot set label "crossplane.io/claim-name"` + forCrossplane,
				`cannot set label "crossplane.io/claim-namespace"` + forCrossplane,
				`cannot set label "crossplane.io/composite"` + forCrossplane,
			},
		},
		"CrossplaneAnnotation": {
			reason:          "by this annotation Crossplane finds an object again",
			in:              map[string]string{"crossplane.io/composition-resource-name": "x"},
			wantAnnotations: []string{`cannot set annotation "crossplane.io/composition-resource-name"` + forCrossplane},
		},
		"LastApplied": {
			reason:          "it would hold a copy of the data, and Held drops it",
			in:              map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "x"},
			wantAnnotations: []string{`cannot set annotation "kubectl.kubernetes.io/last-applied-configuration": kubectl keeps a copy of all data in it, also of a Secret's; leave it out`},
		},
		"OtherOfCrossplane": {
			reason: "what Crossplane does not set is free",
			in:     map[string]string{"crossplane.io/external-name": "x", "fn.crossplane.io/a": "x"},
		},
		"AtLimit": {
			reason:     "256 KiB are allowed, keys and values together",
			in:         map[string]string{"a": strings.Repeat("x", MaxMetadataBytes-1)},
			wantLabels: []string{`cannot use the value of label "a"` + forValue},
		},
		"OverLimit": {
			reason: "one byte more is refused",
			in:     map[string]string{"aa": strings.Repeat("x", MaxMetadataBytes-1)},
			wantLabels: []string{
				`cannot hold 262145 bytes of labels: use at most 262144 bytes (256 KiB), keys and values together`,
				`cannot use the value of label "aa"` + forValue,
			},
			wantAnnotations: []string{`cannot hold 262145 bytes of annotations: use at most 262144 bytes (256 KiB), keys and values together`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := maps.Clone(tc.in)
			labels, annotations := messages(ValidateLabels(tc.in)), messages(ValidateAnnotations(tc.in))
			if diff := cmp.Diff(tc.wantLabels, labels); diff != "" {
				t.Errorf("labels: %s: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.wantAnnotations, annotations); diff != "" {
				t.Errorf("annotations: %s: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.in); diff != "" {
				t.Errorf("the map was modified: -want, +got:\n%s", diff)
			}
			assertNoCanary(t, append(labels, annotations...)...)
		})
	}
}

// The same cases, as an object's own: an object has no laxer rules.
func TestValidateIncludesMetadata(t *testing.T) {
	o := Object{
		Kind: Secret, Name: "a", Namespace: "b", Data: texts(map[string]string{"k": ""}),
		Labels: map[string]string{"crossplane.io/composite": "x"}, Annotations: map[string]string{StatePrefix + "a": "x"},
	}
	want := append(messages(ValidateAnnotations(o.Annotations)), messages(ValidateLabels(o.Labels))...)
	if diff := cmp.Diff(want, messages(o.Validate())); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestSortedSaysNothingTwice(t *testing.T) {
	got := messages(sorted(adding(nil, errors.New("b"), nil, errors.New("a"), errors.New("b"))))
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if sorted(adding(nil, nil)) != nil {
		t.Error("no error is nil, not an empty list")
	}
}
