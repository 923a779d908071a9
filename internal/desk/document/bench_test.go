package document

import (
	"os"
	"testing"

	k8syaml "sigs.k8s.io/yaml"
)

// BenchmarkParse reads a Composition, beside the bare parser, and beside a look for
// one place in it.
func BenchmarkParse(b *testing.B) {
	data, err := os.ReadFile("../../../example/postgresql-url/composition.yaml")
	if err != nil {
		b.Fatal(err)
	}
	text := string(data)
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if docs, err := Parse(text); err != nil || len(docs) != 1 {
				b.Fatal(len(docs), err)
			}
		}
	})
	b.Run("yaml", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := k8syaml.UnmarshalStrict(data, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parse and find", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			docs, err := Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			if _, exact := docs[0].Find("spec", "pipeline", 0); !exact {
				b.Fatal("not found")
			}
		}
	})
}
