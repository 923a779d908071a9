package rewrite

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMerge(t *testing.T) {
	two := []Key{key("mongo", "a", `{"x": 1, "y": "m"}`), key("redis", "b", `{"y": "r", "z": null}`)}
	cases := map[string]struct {
		reason string
		rule   Merge
		in     []Key
		want   map[string]string
		err    string
	}{
		"Values": {
			reason: "each kind of value, numbers as they are written",
			in: []Key{
				key(
					"db",
					"a",
					`{"s":"a\nb<\u00e4\ud83d\ude00","n":12345678901234567890.10,"e":-1E+5,"t":true,"f":false,"0":null,
				"l":[1, {"b":"<&>","a":[ ]}, null, "x\ty"],"o":{"z":{},"a":1.0}}`,
				),
			},
			want: map[string]string{
				"s": "a\nb<ä😀", "n": "12345678901234567890.10", "e": "-1E+5", "t": "true", "f": "false", "0": "",
				"l": `[1,{"a":[],"b":"<&>"},null,"x\ty"]`, "o": `{"a":1.0,"z":{}}`,
			},
		},
		"JSON": {
			reason: "the keys stay, and the merged object is as stable as a nested one",
			rule:   Merge{Strategy: "JSON", Into: "all"},
			in:     []Key{key("db", "a", `{"y": "<", "b": 9007199254740993}`), key("db", "b", `null`)},
			want: map[string]string{"a": `{"y": "<", "b": ` +
				`9007199254740993}`, "b": "null", "all": `{"b":9007199254740993,"y":"<"}`},
		},
		"JSONTaken": {
			reason: "into would overwrite a key",
			rule:   Merge{Strategy: "JSON", Into: "b", ConflictPolicy: "Ignore"},
			in:     two,
			err: `rewrite[0].merge.into: cannot write the merged object into "b": "b" of "redis" already has ` +
				`this name; choose another one`,
		},
		"ConflictOrder": {
			reason: "the first pair is named, in whichever order the keys are merged",
			rule:   Merge{Priority: []string{"b"}},
			in:     []Key{key("db", "c", `{"p":1,"q":1}`), key("db", "a", `{"p":1,"q":1}`), key("db", "b", `{"p":1}`)},
			err: `rewrite[0].merge: a member with the same name is in "a" of "db" and "b" of "db": remove one ` +
				`of them, or set conflictPolicy to Ignore`,
		},
		"JSONOfNothing": {
			reason: "an optional find that finds nothing exports nothing",
			rule:   Merge{Strategy: "JSON", Into: "all"},
			want:   map[string]string{},
		},
		"ExtractIgnoresInto": {
			reason: "as External Secrets documents it",
			rule:   Merge{Into: "a"},
			in:     two[:1],
			want:   map[string]string{"x": "1", "y": "m"},
		},
		"Conflict": {
			reason: "both keys are named, the member is not",
			in:     two,
			err: `rewrite[0].merge: a member with the same name is in "a" of "mongo" and "b" of "redis": remove ` +
				`one of them, or set conflictPolicy to Ignore`,
		},
		"Ignore": {
			reason: "the last one wins, in alphabetical order",
			rule:   Merge{ConflictPolicy: "Ignore"},
			in:     two,
			want:   map[string]string{"x": "1", "y": "r", "z": ""},
		},
		"Priority": {
			reason: "what is listed comes behind what is not",
			rule:   Merge{ConflictPolicy: "Ignore", Priority: []string{"a"}},
			in:     two,
			want:   map[string]string{"x": "1", "y": "m", "z": ""},
		},
		"Missing": {
			reason: "a listed key has to be there",
			rule:   Merge{Priority: []string{"a", "c"}},
			in:     two,
			err: `rewrite[0].merge.priority[1]: the key "c" of rewrite[0].merge.priority: name a key that ` +
				`exists, or set priorityPolicy: IgnoreNotFound`,
		},
		"MissingIgnored": {
			reason: "unless it need not",
			rule:   Merge{Priority: []string{"a", "c"}, PriorityPolicy: "IgnoreNotFound"},
			in:     two[:1],
			want:   map[string]string{"x": "1", "y": "m"},
		},
		"Case": {
			reason: "members are told apart by case",
			in:     []Key{key("db", "a", `{"x":1,"X":2}`)},
			want:   map[string]string{"x": "1", "X": "2"},
		},
		"EmptyName": {reason: "a member without a name is an empty " +
			"key", in: []Key{key("db", "a", `{"":1}`)}, err: `rewrite[0].merge: produces an empty name for "a" of ` +
			`"db": a key needs a name of at least one character`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := run(Options{Rewrite: []Rule{mergeRule(tc.rule)}, ConversionStrategy: "None"}, tc.in)
			if message(err) != tc.err {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.err, message(err))
			}
			if diff := cmp.Diff(tc.want, texts(got)); diff != "" && tc.err == "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A value that is not an object, or that a merge would change, is refused. The error names its key.
func TestMergeRefusesValues(t *testing.T) {
	cases := map[string]error{
		``: errNotObject, `"x"`: errNotObject, `[{}]`: errNotObject, `[]`: errNotObject, `1`: errNotObject, `{`: errNotObject,
		`{"a":1}{}`: errNotObject, `{"a":1,}`: errNotObject,
		"{\"a\":\"\xff\"}": errNotText, `{"a":"\ud83d"}`: errNotText, `{"\uDE00":1}`: errNotText,
		`{"a":"\ud83d\ud83d\ude00"}`: errNotText, `{"a":"\ud83dx"}`: errNotText,
		`{"a":"\ud83dxude00"}`: errNotText, `{"a":"\ud83d\n"}`: errNotText, `{"a":"\n"}`: nil,
		`{"a":"\\ud83d\ud83d\ude00"}`: nil,
		` null `:                      nil, //nolint:gocritic // JSON may begin and end with spaces
	}
	for value, want := range cases {
		_, err := run(Options{Rewrite: []Rule{mergeRule(Merge{})}}, []Key{key("db", "a", value)})
		got, text := message(err), ""
		if want != nil {
			text = `rewrite[0].merge: the value of "a" of "db" ` + want.Error()
		}
		if got != text {
			t.Errorf("%.40q: want %q, got %q", value, text, got)
		}
	}
}

func TestOpen(t *testing.T) {
	const value = `{"a": {"b": {"n": 1.10, "s": "canary", "z": null}}, "t": "canary"}`
	for name, tc := range map[string]struct {
		value   string
		path    []string
		want    []string
		err     string
		missing bool
	}{
		"Root":     {value: value, want: []string{`a={"b":{"n":1.10,"s":"canary","z":null}}`, "t=canary"}},
		"Below":    {value: value, path: []string{"a", "b"}, want: []string{"n=1.10", "s=canary", "z="}},
		"Missing":  {value: value, path: []string{"a", "x", "y"}, err: `"a.x" in "k" of "db"`, missing: true},
		"NoObject": {value: "canary", err: `the value of "k" of "db" is not a JSON object`},
		"Text":     {value: value, path: []string{"t"}, err: `the value of "t" in "k" of "db" is not a JSON object`},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := Open(fresh(), key("db", "k", tc.value), tc.path)
			for i := range keys {
				keys[i].Origins = []Origin{{Input: "db", Key: "k"}}
			}
			var got []string
			for name, value := range texts(keys) {
				got = append(got, name+"="+value)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got) + cmp.Diff(tc.err, message(err)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			var f *Failed
			if errors.As(err, &f) && f.Missing != tc.missing {
				t.Errorf("want missing %t", tc.missing)
			}
		})
	}
}
