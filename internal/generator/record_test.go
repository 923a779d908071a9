package generator

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
			annotations := tc.record.Annotations()
			got := ReadRecord(annotations)
			got.Generator, got.Number = tc.record.Generator, tc.record.Number // which its caller knows
			if diff := cmp.Diff(tc.record, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if strings.Contains(annotations[annotationState], `\u`) {
				t.Errorf("%s: %s", tc.reason, annotations[annotationState])
			}
		})
	}
}

// Server-side apply leaves an annotation where it is that somebody else has set.
func TestForgedFlag(t *testing.T) {
	annotations := Record{Generator: "a", Generation: Generation{Number: 1, Kind: "uuid", Made: someTime, Adopted: true}}.Annotations()
	annotations[annotationFlagged] = "2020-01-01T00:00:00Z"
	if r := ReadRecord(annotations); !r.Flagged.IsZero() {
		t.Errorf("a generation in use is flagged at %s", r.Flagged)
	}
}

// Reading a record never fails, whatever users wrote into it. A record that was read is written
// the same way each time.
func FuzzRecordIsStable(f *testing.F) {
	f.Add("2026-11-21T12:00:00.5Z", "2026-11-21T12:00:00+01:00", "s", "k", `{"resource":{"a":"<"},"state":{"kind":"x","gracePeriod":"1h","flagged":true}}`)
	f.Add("tomorrow", "", "", "", `{"resource":null,"state":{"gracePeriod":"-1h"}}`)
	f.Add("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "\xff", "", `{"resource":`)
	f.Add("", "", "", "", `{"resource":[ 1, "é" ],"state":{"kind":"resource","gracePeriod":"2562047h47m16.854775807s"}}`)
	f.Fuzz(func(t *testing.T, made, flagged, spec, keepers, state string) {
		read := func(a map[string]string) Record {
			r := ReadRecord(a)
			r.Generator, r.Number = "g", 1
			return r
		}
		once := read(map[string]string{annotationMade: made, annotationFlagged: flagged, annotationSpec: spec, annotationKeepers: keepers, annotationState: state}).Annotations()
		if diff := cmp.Diff(once, read(once).Annotations()); diff != "" {
			t.Errorf("-once, +again:\n%s", diff)
		}
	})
}
