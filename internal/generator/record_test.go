package generator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

var someTime = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)

func TestRecord(t *testing.T) {
	cases := map[string]struct {
		reason string
		record Record
	}{
		"Made": {
			reason: "it has no grace period, and nobody uses it",
			record: Record{Generator: "admin", Resource: json.RawMessage(`{"length":32}`), Generation: Generation{
				Number: 1, Kind: "password", Made: someTime, SpecHash: "s", KeepersHash: "k", Rotation: "r",
			}},
		},
		"Former": {
			reason: "fractions of a second stay: a grace period must not be over too early",
			record: Record{Generator: "admin", Generation: Generation{
				Number: 7, Kind: "uuid", Made: someTime, SpecHash: "s", GracePeriod: 24 * time.Hour, Adopted: true, Flagged: someTime.Add(time.Hour),
			}},
		},
		"Retired": {
			reason: "its generator left the input",
			record: Record{Generator: "a", Generation: Generation{Number: 1, Kind: "resource", Made: someTime, Flagged: someTime, Retired: true}},
		},
		"Followed": {
			reason: "whom it follows, and what it was derived from, is read again", record: Record{
				Generator: "a", Surplus: true, Follows: []Followed{{Reference: Reference{Generation: 1, UID: "u"}, Codes: []string{"c"}}},
				Generation: Generation{Number: 2, Kind: "bcrypt", Made: someTime, SourceHash: "o"},
			},
		},
		"Lost": {
			reason: "nobody knows anything",
			record: Record{Generator: "a", Generation: Generation{Number: 3}},
		},
		"HTML": {
			reason: "what HTML would escape is as it is",
			record: Record{Generator: "a", Resource: json.RawMessage(`{"a":"<&>"}`), Generation: Generation{Number: 3, Kind: "resource"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := tc.record.Annotation(nil)
			got := ReadRecord(text)
			if diff := cmp.Diff(tc.record, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if strings.Contains(text, `\u`) {
				t.Errorf("%s: %s", tc.reason, text)
			}
		})
	}
}

// TestAnnotation holds the annotation to what earlier versions of the function have stored: they must be read again, and
// a generation whose annotation changes is written again.
func TestAnnotation(t *testing.T) {
	cases := map[string]struct {
		reason string
		record Record
		want   string
	}{
		"Lost": {
			reason: "only what is known is stored", record: Record{Generation: Generation{Number: 3}}, want: `{"state":{"generation":3}}`,
		},
		"Everything": {
			reason: "each field has its own place",
			record: Record{
				Generator: "admin", Resource: json.RawMessage(`{"length":32}`), Surplus: true,
				Follows: []Followed{{Reference: Reference{Generation: 1, UID: "u"}, Codes: []string{"c"}}},
				Generation: Generation{
					Number: 2, Kind: "password", Made: someTime, SpecHash: "s", KeepersHash: "k", Rotation: "r", SourceHash: "o",
					GracePeriod: time.Nanosecond, Waited: time.Nanosecond, OfferedAt: someTime, Adopted: true, Retired: true,
					Flagged: someTime, Abandoned: true, Highest: 4, Failure: Failure{Request: "q", Number: 3, At: someTime, Times: 2},
				},
			},
			want: `{"resource":{"length":32},"state":{"generator":"admin","generation":2,"kind":"password",` +
				`"generatedAt":"2026-11-21T12:00:00.123456789Z","specHash":"s","keepersHash":"k","sourceHash":"o","rotation":"r",` +
				`"gracePeriod":"1ns","adopted":true,"flaggedForGCTime":"2026-11-21T12:00:00.123456789Z","retired":true,"surplus":true,` +
				`"offeredAt":"2026-11-21T12:00:00.123456789Z","waited":"1ns","abandoned":true,"highest":4,` +
				`"failure":{"request":"q","generation":3,"at":"2026-11-21T12:00:00.123456789Z","times":2}},` +
				`"follows":[{"generation":1,"uid":"u","codes":["c"]}]}`,
		},
		"NotJSON": {
			reason: "a resource that is not JSON is left out, and the state is kept",
			record: Record{Generator: "a", Resource: json.RawMessage(`{`), Generation: Generation{Number: 1, Kind: "uuid"}},
			want:   `{"state":{"generator":"a","generation":1,"kind":"uuid"}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.record.Annotation(nil)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReadRecordOfEditedNumbers reads numbers that no generation has, because people can edit annotations.
func TestReadRecordOfEditedNumbers(t *testing.T) {
	const largest = limits.GenerationNumber
	cases := map[string]struct {
		reason  string
		state   string
		highest int
		failure Failure
	}{
		"Largest": {
			reason: "the largest number of a generation", state: fmt.Sprintf(`"highest":%d`, largest), highest: largest,
		},
		"TooLarge": {reason: "a larger one would leave no number for the next", state: fmt.Sprintf(`"highest":%d`, largest+1)},
		"Negative": {reason: "no generation has it", state: `"highest":-1`},
		"Failed": {
			reason: "a failure happened at least once", state: `"failure":{"request":"q","generation":1,"times":0}`,
			failure: Failure{Request: "q", Number: 1, Times: 1},
		},
		"FailedOften": {
			reason: "more failures do not make it wait longer", state: `"failure":{"request":"q","generation":1,"times":1000000}`,
			failure: Failure{Request: "q", Number: 1, Times: limits.Retries},
		},
		"FailedWithoutNumber": {
			reason: "a failure of no generation is none", state: `"failure":{"request":"q","times":1}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := ReadRecord(`{"state":{` + tc.state + `}}`)
			if r.Highest != tc.highest || r.Failure != tc.failure {
				t.Errorf("%s: read %d and %+v, want %d and %+v", tc.reason, r.Highest, r.Failure, tc.highest, tc.failure)
			}
		})
	}
}

// TestLabels reads the labels of a generation. The key of an item may have any characters of a label.
func TestLabels(t *testing.T) {
	cases := map[string]struct {
		reason    string
		generator string
		want      map[string]string
	}{
		"Generator": {
			reason: "it has no items, so there is no label for one", generator: "admin",
			want: map[string]string{LabelGenerator: "admin", LabelGeneration: "7"},
		},
		"Item": {
			reason: "the generator and its item can be selected on their own", generator: "admin/eu.west",
			want: map[string]string{LabelGenerator: "admin", LabelKey: "eu.west", LabelGeneration: "7"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			labels := Record{Generator: tc.generator, Generation: Generation{Number: 7}}.Labels()
			if diff := cmp.Diff(tc.want, labels); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReadRecordOfAPartOfAState reads nothing of a state with a mistake. Otherwise, a part of it would be believed.
func TestReadRecordOfAPartOfAState(t *testing.T) {
	r := ReadRecord(`{"state":{"kind":"uuid","adopted":true,"highest":"x"}}`)
	if diff := cmp.Diff(Record{}, r); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestHashesAreStored holds the hashes to what earlier versions of the function have stored. With other hashes, each
// generation would be replaced after an upgrade.
func TestHashesAreStored(t *testing.T) {
	const want = "323c96d46a4faac67a4c70b866fbd814"
	if got := Hash("password", "s"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Reading a record never fails, whatever users wrote into it. A record that was read is written
// the same way each time.
func FuzzRecordIsStable(f *testing.F) {
	f.Add(`{"resource":{"a":"<"},"state":{"kind":"x","gracePeriod":"1h","flaggedForGCTime":"2026-11-21T12:00:00+01:00"}}`)
	f.Add(`{"resource":null,"state":{"gracePeriod":"-1h","generatedAt":"tomorrow"}}`)
	f.Add(`{"resource":`)
	f.Add(`{"resource":[ 1, "é" ],"state":{"kind":"resource","gracePeriod":"2562047h47m16.854775807s","specHash":"\u0000"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		once := ReadRecord(text).Annotation(nil)
		if diff := cmp.Diff(once, ReadRecord(once).Annotation(nil)); diff != "" {
			t.Errorf("-once, +again:\n%s", diff)
		}
	})
}
