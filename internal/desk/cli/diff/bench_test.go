package diff

import (
	"fmt"
	"testing"
)

// BenchmarkDiff rehearses a change that rotates a password of each composite and renames an export.
func BenchmarkDiff(b *testing.B) {
	changed := composed(with(b, "length: 24", "length: 32", "name: conn", "name: connection"))
	for _, n := range []int{400, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			objects := make([]string, 0, n)
			for i := range n {
				objects = append(objects, instance(fmt.Sprintf("team-%d", i%20), fmt.Sprintf("orders-%d", i)))
			}
			dump := cluster(b, composed(input), objects...)
			for b.Loop() {
				if _, code := run(b, Command{Output: "json"}, changed, dump); code != 1 {
					b.Fatal(code)
				}
			}
		})
	}
}
