package mention_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/mention"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A backslash or a percent sign in front of a name may be an escape, or not.
func TestNamesAfterEscapes(t *testing.T) {
	for _, text := range []string{`{"name":\u0022db-secret\u0022}`, `a\ndb-secret`, `team%2Fdb-secret`,
		`TEAM\db-secret`, `$(%db-secret)`} {
		o, err := structpb.NewStruct(map[string]any{"spec": map[string]any{"text": text}})
		if err != nil {
			t.Fatal(err)
		}
		found := mention.Of("team", map[string]bool{"db-secret": true}, mention.Resources{"a": wire.Of(o)})
		if found["db-secret"].Where == "" {
			t.Errorf("%s: the name is not found", text)
		}
	}
}
