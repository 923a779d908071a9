package fieldpath_test

import (
	"fmt"
	"testing"

	theirs "github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"

	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
)

// Every text is the same path for this package and for crossplane-runtime, with the same message if it is none.
func FuzzParseAsCrossplane(f *testing.F) {
	for _, path := range []string{
		"", "spec", "spec.a.b", "spec.items[0].name", "[42]", "a[.config.yml]", "metadata.annotations['example.org/a']",
		`a["b"]`, "a['0']", "a[*].b", "a.*", "a[0]b", "a[0][8]", "a[4294967295]", "a[4294967296]", "a[-1]", "a[ 0]",
		".a", "a.", ".", "a..b", "a.[0]", "a[]", "a[", "a]", "a.]", "a[b[c]]", "a[b", "''", "a.''", "é.ü[ö]", "\xff.a[\xff]",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		segments, err := fieldpath.Parse(path)
		want, wantErr := theirs.Parse(path)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("Parse(%q): want error %v, got %v", path, wantErr, err)
		}
		if fmt.Sprint(segments) != fmt.Sprint(want) {
			t.Errorf("Parse(%q): want %s, got %s", path, want, segments)
		}
		if len(segments) != len(want) {
			t.Fatalf("Parse(%q): want %d segments, got %d", path, len(want), len(segments))
		}
		for i, s := range segments {
			if int(s.Type) != int(want[i].Type) || s.Field != want[i].Field || s.Index != want[i].Index {
				t.Errorf("Parse(%q): segment %d: want %v, got %v", path, i, want[i], s)
			}
		}
	})
}
