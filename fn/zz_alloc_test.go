package main

import (
	"os"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

func BenchmarkZZ(b *testing.B) {
	for _, n := range []string{"0", "1"} {
		req, _ := os.ReadFile("/tmp/w/h3prof/req" + n + ".bin")
		b.Run(n, func(b *testing.B) {
			f := functiontest.New(b).Function
			answerBytes(b, f, req)
			b.ReportAllocs()
			for b.Loop() {
				answerBytes(b, f, req)
			}
		})
	}
}
