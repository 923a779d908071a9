package main

import (
	"strings"
	"testing"
)

func TestCheckTable(t *testing.T) {
	const out = `
BenchmarkCheck/Check/cores=1         	       5	1325000000 ns/op	      2650000 cpu-ns/file	  2700000 ns/file	     19900 allocs/file
BenchmarkCheck/CheckTyped/cores=1    	       5	1325000000 ns/op	      3650000 cpu-ns/file	  3700000 ns/file	     25700 allocs/file
BenchmarkCheck/ParseAlone/cores=1    	       5	1325000000 ns/op	       980000 cpu-ns/file	   990000 ns/file	      1400 allocs/file
BenchmarkCheck/CompileAlone/cores=1  	       5	1325000000 ns/op	      1240000 cpu-ns/file	  1250000 ns/file	     10000 allocs/file
`
	more := strings.ReplaceAll(strings.ReplaceAll(out, "cores=1 ", "cores=4-4 "), "  2700000 ns/file", "   700000 ns/file")
	if _, err := checkTableOf(out, 4); err == nil || !strings.Contains(err.Error(), "ParseAlone") {
		t.Errorf("want an error about the figures that are missing, got %v", err)
	}
	table, err := checkTableOf(out+more, 4)
	if err != nil {
		t.Fatal(err)
	}
	if want := "| `fn check` | 2.6 ms | 2.7 ms | 0.7 ms | 19900 |\n"; !strings.Contains(table, want) {
		t.Errorf("want %s in\n%s", want, table)
	}
}
