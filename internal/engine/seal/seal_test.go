package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// Two annotations with state.
const (
	stateName  = object.StatePrefix + "generator-state"
	recordName = object.StatePrefix + "export-state"
)

// framed writes the length before each text.
func framed(texts ...string) string {
	var out strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&out, "%d:%s", len(text), text)
	}
	return out.String()
}

// codeOf computes a code with the standard library alone. The key has names and values, sorted by name.
func codeOf(key []string, texts ...string) string {
	k := sha256.Sum256([]byte(framed(key...)))
	m := hmac.New(sha256.New, k[:])
	m.Write([]byte(framed(texts...)))
	return hex.EncodeToString(m.Sum(nil))
}

func outputsOf(texts ...string) credential.Outputs {
	out := credential.Outputs{}
	for i := 0; i < len(texts); i += 2 {
		out[texts[i]] = sensitive.FromString(texts[i+1])
	}
	return out
}

// A change of a code would make all stored generations strangers, so the codes are compared with another computation.
func TestCodes(t *testing.T) {
	pair := []string{"a", "made-up", "b", "up-made"}
	source := outputsOf("y", "2", "x", "1")
	cases := map[string]struct {
		reason    string
		got, want string
	}{
		"Add": {
			"the code is the last member of the object that it seals",
			Add(stateName, outputsOf(pair...), `{"a":{"b":1}}`), `{"a":{"b":1},"seal":"` +
				codeOf(pair, stateName, `{"a":{"b":1}`) + `"}`,
		},
		"NextCode": {
			"the number and the new data are in it", NextCode(outputsOf(pair...), 7, outputsOf("c", "new")),
			codeOf(pair, "follows", "7", codeOf([]string{"c", "new"}, "data")),
		},
		"SourceCodeOfText": {
			"the text of a hash", SourceCode(outputsOf(pair...), credential.Source{Text: sensitive.FromString("text")}),
			codeOf(pair, "source", "text"),
		},
		"SourceCodeOfMap": {
			"the keys and the values of a map, sorted", SourceCode(outputsOf(pair...), credential.Source{Map: source}),
			codeOf(pair, "source", "", "x", "1", "y", "2"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSealed(t *testing.T) {
	data := outputsOf("a", "made-up")
	state := Add(stateName, data, `{"state":{"generation":1}}`)
	changed := strings.Replace(state, "1", "2", 1)
	unsealed, _, _ := strings.Cut(state, `,"seal"`)
	cases := map[string]struct {
		reason string
		data   credential.Outputs
		state  string
		want   bool
	}{
		"Written": {"as this function wrote it", data, state, true},
		"Changed": {"another writer changed the state", data, changed, false},
		"Others":  {"the seal belongs to other data", outputsOf("a", "up-made"), state, false},
		"Removed": {"the seal was removed", data, unsealed + "}", false},
		"Longer":  {"something follows the seal", data, state + " ", false},
		"Twice":   {"only the last member is the seal", data, strings.TrimSuffix(state, "}") + `,"seal":"x"}`, false},
		"Record":  {"the seal belongs to another annotation", data, Add(recordName, data, "{}"), false},
		"NoData":  {"each writer can compute a code without a key", nil, Add(stateName, nil, "{}"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Fits(stateName, tc.data, tc.state); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

func TestHideCodes(t *testing.T) {
	code := strings.Repeat("0f", 32)
	mask := func(n int) string { return fmt.Sprintf("<%d>", n) }
	cases := map[string]struct{ reason, annotation, value, want string }{
		"State": {"each code is masked", stateName, "a " + code + "," + code, "a <64>,<64>"},
		"Short": {"it is not a code", stateName, code[1:], code[1:]},
		"Other": {"it is not the state of this function", "example.org/seal", code, code},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, HideCodes(tc.annotation, tc.value, mask)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// The hashes are the ones that earlier versions of the function have stored. With other hashes, each generation would
// be replaced after an upgrade.
func TestHashesAreStored(t *testing.T) {
	const want = "323c96d46a4faac67a4c70b866fbd814"
	if got := Hash("password", "s"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
