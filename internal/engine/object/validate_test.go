package object

import (
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
		"EachFault": {
			reason: "all faults are reported at once, so that they can be mended at once",
			in: valid(func(o *Object) {
				o.Name, o.Namespace = "DB", "shop.eu"
				o.Data["user name"] = sensitive.FromString(canary)
			}),
			want: []string{
				`cannot use key "user name": use letters, digits, '-', '_' and '.' only`,
				`cannot use name "DB": use lower-case letters, digits, '-' and '.', and start and end each part ` +
					`between dots with a letter or a digit`,
				`cannot use namespace "shop.eu": use lower-case letters, digits and '-', and start and end with a ` +
					`letter or a digit`,
			},
		},
		"MaxData": {
			reason: "1 MiB of values is what the API server takes; keys do not count",
			in: valid(func(o *Object) {
				o.Data = map[string]sensitive.Bytes{
					"a": sensitive.New(make([]byte, MaxDataBytes-1)),
					"b": sensitive.New(make([]byte, 1)),
				}
			}),
		},
		"TooMuchData": {
			reason: "one byte more is refused, and the sum counts",
			in: valid(func(o *Object) {
				o.Data = map[string]sensitive.Bytes{
					"a": sensitive.New(make([]byte, MaxDataBytes)),
					"b": sensitive.New(make([]byte, 1)),
				}
			}),
			want: []string{`cannot hold 1048577 bytes of data in one object: export fewer keys or shorter values, ` +
				`at most 1048576 bytes (1 MiB) together`},
		},
		"StateCounts": {
			reason: "the API server counts all annotations together",
			in: valid(func(o *Object) {
				o.Annotations = map[string]string{"a": strings.Repeat("x", MaxMetadataBytes/2)}
				o.State = map[string]string{StatePrefix + "a": strings.Repeat("x", MaxMetadataBytes/2)}
			}),
			want: []string{`cannot hold 262170 bytes of annotations: use at most 262144 bytes (256 KiB), keys and ` +
				`values together`},
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
	for name, tc := range map[string]struct {
		typ  string
		data []string
		want string // the missing keys
	}{
		"Own":       {"example.org/x", []string{"a"}, ""},
		"TLS":       {"kubernetes.io/tls", []string{"tls.crt", "tls.key", "ca.crt"}, ""},
		"TLSHalf":   {"kubernetes.io/tls", []string{"tls.crt"}, "tls.key"},
		"TLSNone":   {"kubernetes.io/tls", []string{"ca.crt"}, "tls.crt tls.key"},
		"Docker":    {"kubernetes.io/dockerconfigjson", []string{"dockerconfigjson"}, ".dockerconfigjson"},
		"BasicAuth": {"kubernetes.io/basic-auth", []string{"password"}, ""},
		"NoAuth":    {"kubernetes.io/basic-auth", []string{"user"}, "username"},
		"SSH":       {"kubernetes.io/ssh-auth", []string{"id_rsa"}, "ssh-privatekey"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Object{Kind: Secret, Name: "a", Namespace: "b", Type: tc.typ, Data: map[string]sensitive.Bytes{}}
			for _, key := range tc.data {
				o.Data[key] = sensitive.FromString(canary)
			}
			var want []string
			for _, key := range strings.Fields(tc.want) {
				want = append(want, fmt.Sprintf("cannot make a Secret of type %q without key %q: add it to data", tc.typ, key))
			}
			if diff := cmp.Diff(want, messages(o.Validate())); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

func TestValidateMetadata(t *testing.T) {
	const forUse = ": use at most 63 letters, digits, '-', '_' and '.', with a letter or a digit at both ends, " +
		"after an optional DNS name and '/'"
	const forValue = ": use at most 63 letters, digits, '-', '_' and '.', and start and end with a letter or a " +
		"digit, or write an annotation, which can have any text"
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
			reason: "a key has a form, and no value is quoted",
			in:     map[string]string{"a b": canary, "": "x", "a/b/c": "x"},
			wantLabels: []string{`cannot use label ""` + forUse, `cannot use label "a b"` + forUse, `cannot ` +
				`use label "a/b/c"` + forUse},
			wantAnnotations: []string{`cannot use annotation ""` + forUse, `cannot use annotation "a ` +
				`b"` + forUse, `cannot use annotation "a/b/c"` + forUse},
		},
		"Case": {
			reason:     "the case of a prefix is free in annotations only",
			in:         map[string]string{"Example.org/a": "x"},
			wantLabels: []string{`cannot use label "Example.org/a"` + forUse},
		},
		"Value": {
			reason: "a label's value has a form, an annotation's has none; it is not quoted",
			in:     map[string]string{"a": canary + " with blanks", "b": strings.Repeat("x", 64)},
			wantLabels: []string{`cannot use the value of label "a"` + forValue, `cannot use the value of label ` +
				`"b"` + forValue},
		},
		"State": {
			reason: "a user who sets state could make us adopt a value of his",
			in:     map[string]string{StatePrefix + "generation": "7", StatePrefix + "any": "x"},
			wantLabels: []string{`cannot set label "export.fn.crossplane.io/any"` + forState, `cannot set ` +
				`label "export.fn.crossplane.io/generation"` + forState},
			wantAnnotations: []string{`cannot set annotation "export.fn.crossplane.io/any"` + forState, `cannot ` +
				`set annotation "export.fn.crossplane.io/generation"` + forState},
		},
		"CrossplaneAnnotation": {
			reason: "by this annotation Crossplane finds an object again",
			in:     map[string]string{"crossplane.io/composition-resource-name": "x"},
			wantAnnotations: []string{`cannot set annotation ` +
				`"crossplane.io/composition-resource-name"` + forCrossplane},
		},
		"LastApplied": {
			reason: "it would hold a copy of the data, and Held drops it",
			in:     map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "x"},
			wantAnnotations: []string{`cannot set annotation "kubectl.kubernetes.io/last-applied-configuration": ` +
				`kubectl keeps a copy of all data in it, also of a Secret's; leave it out`},
		},
		"OtherOfCrossplane": {
			reason: "what Crossplane does not set is free",
			in:     map[string]string{"crossplane.io/external-name": "x", "fn.crossplane.io/a": "x"},
		},
		"OverLimit": {
			reason:     "one byte more is refused",
			in:         map[string]string{"aa": strings.Repeat("x", MaxMetadataBytes-1)},
			wantLabels: []string{`cannot use the value of label "aa"` + forValue},
			wantAnnotations: []string{`cannot hold 262145 bytes of annotations: use at most 262144 bytes (256 ` +
				`KiB), keys and values together`},
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
