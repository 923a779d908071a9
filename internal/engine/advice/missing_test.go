package advice

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissing(t *testing.T) {
	const none, empty = ".?host.orValue('none') for a default", ".?host.orValue([]) for an empty list"
	about := func(f Fact, state State, instead string) Missing {
		return Missing{Input: "resources.db.status.host", Fact: f, Object: "Database db-1", State: state, Resource: "db", Instead: instead}
	}
	for name, tc := range map[string]struct {
		reason string
		of     Missing
		want   string
	}{
		"Unknown":       {"nothing is known", about(Unknown, "", ""), ""},
		"Composite":     {"the composite author can set the field", about(CompositeLacks, "", ""), "correct it, set it in Database db-1, or write " + none},
		"Item":          {"the field can be set in the item", about(ItemLacks, "", ""), "the item lacks it: set it there, or write " + none},
		"List":          {"the default of a list is a list", Missing{Input: "item.host", Fact: ItemLacks, List: true}, "the item lacks it: set it there, or write " + empty},
		"Below":         {"a field below it already has a default", Missing{Input: "item.host", Fact: ItemLacks, Below: true}, "the item lacks it: set it there, or write .?host for a field that may be missing"},
		"NoDetails":     {"the provider writes none", about(NoDetails, ObjectReady, ""), "Database db-1 is ready, and has no connection details: select a field of resources.db"},
		"Null":          {"a null exists, so an optional step does not help", Missing{Fact: ItemLacks, Null: true}, "the item lacks it: set it there, or write value == null ? 'none' : value for a default"},
		"NullList":      {"the same for a list", Missing{Fact: ItemLacks, Null: true, List: true}, "the item lacks it: set it there, or write value == null ? [] : value for an empty list"},
		"NotComposed":   {"no step composes it", about(NotComposed, "", ": use web"), "no earlier step composes it: use web"},
		"Waits":         {"the provider may still write the field", about(LacksField, ObjectNotReady, ""), "Database db-1 is not ready"},
		"NoCondition":   {"it is unknown whether the provider is done", about(LacksField, ObjectExists, ""), "Database db-1 exists"},
		"Ready":         {"the provider is done", about(LacksField, ObjectReady, ""), "Database db-1 is ready, and lacks it: select another field, or write " + none},
		"Key":           {"a key may still be written", about(HasOthers, ObjectExists, "only the key port"), "Database db-1 exists, and has only the key port"},
		"KeyReady":      {"no key will be written", about(HasOthers, ObjectReady, "only the key port"), "Database db-1 is ready, and has only the key port: select another key"},
		"NoPlace":       {"the Composition lacks a field", about(NoPlace, ObjectReady, ""), "Database db-1 is ready, and has no spec.writeConnectionSecretToRef: add it to db in the Composition"},
		"ToBeReady":     {"the input says what is missing", about(NotReady, ObjectNotReady, ""), "Database db-1"},
		"InEnvironment": {"a similar field exists", about(EnvironmentHasSimilar, "", ": did you mean hots?"), "the environment has no such field: did you mean hots?"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.of.String()); diff != "" {
				t.Errorf("String(): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	for f := Unknown + 1; f < endOfFacts; f++ {
		if texts[f] == "" {
			t.Errorf("fact %d has no text", f)
		}
	}
}

func TestInstead(t *testing.T) {
	type want struct {
		Fact    Fact
		Instead string
	}
	keys := []string{"password", "username"}
	for name, tc := range map[string]struct {
		reason string
		find   func(string, []string) (Fact, string)
		wrong  string
		names  []string
		want   want
	}{
		"Similar":         {"a misspelled key", Key, "pasword", keys, want{HasSimilar, ": did you mean password?"}},
		"Others":          {"another key", Key, "port", keys, want{HasOthers, "the keys password, username"}},
		"Only":            {"there is one", Key, "port", keys[:1], want{HasOthers, "only the key password"}},
		"SourceSimilar":   {"a key of a source can be misspelled", KeyOfSource, "pasword", keys, want{HasSimilar, ": did you mean password?"}},
		"SourceOthers":    {"a source may belong to others", KeyOfSource, "port", keys, want{Exists, ""}},
		"Field":           {"a misspelled field", Field, "regoin", []string{"region"}, want{EnvironmentHasSimilar, ": did you mean region?"}},
		"FieldOthers":     {"its fields are not listed", Field, "zone", []string{"region"}, want{EnvironmentLacks, ""}},
		"EnvironmentData": {"the environment is the data", Field, "data", []string{"date"}, want{EnvironmentData, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var got want
			got.Fact, got.Instead = tc.find(tc.wrong, tc.names)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
