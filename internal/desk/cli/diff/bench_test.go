package diff

import (
	"fmt"
	"testing"
)

// fleet returns the dump of a cluster with composites. They are played once, and are then the same under other names.
func fleet(b *testing.B, n int) string {
	b.Helper()
	objects := make([]string, 0, n)
	for i := range n {
		objects = append(objects, instance(fmt.Sprintf("team-%d", i%20), fmt.Sprintf("orders-%d", i)))
	}
	return cluster(b, composed(input), objects...)
}

func BenchmarkDiff(b *testing.B) {
	for _, n := range []int{400, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dump := fleet(b, n)
			b.SetBytes(int64(len(dump)))
			for b.Loop() {
				if _, code := run(b, Command{Output: "json"}, composed(input)+" ", dump); code != 0 {
					b.Fatal(code)
				}
			}
		})
	}
}
