package advice

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/observation"
)

func TestMissing(t *testing.T) {
	const none, empty = ".?host.orValue('none') for a default", ".?host.orValue([]) for an empty list"
	about := func(f observation.Fact, state observation.State, wrong string, names ...string) observation.Missing {
		return observation.Missing{Input: "resources.db.status.host", Fact: f, Object: "Database db-1", State: state,
			Resource: "db", Wrong: wrong, Names: names}
	}
	item := observation.Missing{Input: "item.host", Fact: observation.ItemLacks}
	list, below, null := item, item, item
	list.List, below.Below, null.Null = true, true, true
	for name, tc := range map[string]struct {
		reason string
		of     observation.Missing
		want   string
	}{
		"Unknown": {"nothing is known", about(observation.Unknown, "", ""), ""},
		"Composite": {"the composite author can set the field", about(observation.CompositeLacks, "", ""),
			"correct it, set it in Database db-1, or write " + none},
		"Item": {"the field can be set in the item", item, "the item lacks it: set it there, or write " + none},
		"List": {"the default of a list is a list", list, "the item lacks it: set it there, or write " + empty},
		"Below": {"a field below it already has a default", below, "the item lacks it: set it there, or " +
			"write .?host for a field that may be missing"},
		"Null": {"a null exists, so an optional step does not help", null, "the item lacks it: set it " +
			"there, or write value == null ? 'none' : value for a default"},
		"NoDetails": {"the provider writes none", about(observation.NoDetails, observation.ObjectReady, ""),
			"Database db-1 is ready, and has no connection details: select a field of resources.db"},
		"NotComposed": {"no step composes it", about(observation.NotComposed, "", "wep", "web"), "no earlier " +
			"step composes it: did you mean web?"},
		"Unsuggested": {"no name may be suggested", about(observation.NotComposed, "", "wep"), "no earlier step " +
			"composes it"},
		"Waits": {"the provider may still write the field", about(observation.LacksField,
			observation.ObjectNotReady, ""), "Database db-1 is not ready"},
		"Ready": {"the provider is done", about(observation.LacksField, observation.ObjectReady, ""),
			"Database db-1 is ready, and lacks it: select another field, or write " + none},
		"Key": {"a key may still be written", about(observation.LacksKey, observation.ObjectExists,
			"port", "password"), "Database db-1 exists, and has only the key password"},
		"KeyReady": {"no key will be written", about(observation.LacksKey, observation.ObjectReady, "port",
			"password", "username"), "Database db-1 is ready, and has the keys password, username: select another key"},
		"Similar": {"a misspelled key", about(observation.LacksKey, observation.ObjectReady, "pasword",
			"password"), "Database db-1 is ready: did you mean password?"},
		"SourceOthers": {"a source may belong to others", about(observation.LacksSourceKey,
			observation.ObjectExists, "port", "password"), "Database db-1 exists"},
		"SourceSimilar": {"a key of a source can be misspelled", about(observation.LacksSourceKey,
			observation.ObjectExists, "pasword", "password"), "Database db-1 exists: did you mean password?"},
		"Environment": {"a misspelled field", about(observation.EnvironmentLacks, "", "regoin", "region"), "the " +
			"environment has no such field: did you mean region?"},
		"EnvironmentData": {"the environment is the data", about(observation.EnvironmentLacks, "", "data", "date"),
			"leave data out, because the environment is the data of the EnvironmentConfigs"},
		"NoPlace": {"the Composition lacks a field", about(observation.NoPlace, observation.ObjectReady, ""),
			"Database db-1 is ready, and has no spec.writeConnectionSecretToRef: add it to db in the Composition"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Missing(tc.of)); diff != "" {
				t.Errorf("Missing: %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	for f := observation.Unknown + 1; f < observation.EndOfFacts; f++ {
		if texts[f] == "" {
			t.Errorf("fact %d has no text", f)
		}
	}
}
