package lsp

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkKeystroke measures how long the diagnostics after a keystroke take, and a completion after one, in a
// Composition with 50 expressions, and a CRD with 200 fields.
func BenchmarkKeystroke(b *testing.B) {
	input := "secrets:\n- name: connection\n  from: db\n  data:\n"
	for i := range 50 {
		input += fmt.Sprintf("  - key: key-%d\n    value: \"'postgres://%%s:%%s@%%s/app'.format([secret.username, "+
			"url.queryEscape(secret.password), resource.status.atProvider.field%d])\"\n", i, i)
	}
	c := newClient(b, strings.Replace(input, "field25", "¦field25", 1))
	fields := ""
	for i := range 200 {
		fields += fmt.Sprintf("                  field%d: {type: string, description: One of many fields.}\n", i)
	}
	c.call("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": "file:///definitions.yaml", "text": strings.Replace(definitions, "                  port:",
			fields+"                  port:", 1),
	}})
	letters := 0
	typed := func() { // a letter, or its removal
		in, with := Range{c.at, c.at}, "x"
		if letters++; letters%2 == 0 {
			in.End.Character, with = in.End.Character+1, ""
		}
		c.call("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": uriOfCase},
			"contentChanges": []any{map[string]any{"range": in, "text": with}}})
	}
	complete := func() {
		if items := c.ask("completion").([]CompletionItem); len(items) < 200 {
			b.Fatalf("there are %d completions", len(items))
		}
	}
	for name, do := range map[string]func(){
		"Diagnostics":              func() { typed(); c.server.Publish(b.Context()) },
		"Completion":               complete,
		"CompletionAfterKeystroke": func() { typed(); complete(); c.server.Publish(b.Context()) },
	} {
		b.Run(name, func(b *testing.B) { measure(b, do) })
	}
}

// measure reports how long half of the calls take, and 99 of 100, and their CPU.
func measure(b *testing.B, do func()) {
	b.Helper()
	cpu := func() (used syscall.Rusage) {
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			b.Fatal(err)
		}
		return used
	}
	began := cpu()
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		do()
		took = append(took, time.Since(start))
	}
	ended := cpu()
	slices.Sort(took)
	milliseconds := func(nanoseconds int64) float64 { return float64(nanoseconds) / 1e6 }
	b.ReportMetric(milliseconds(took[len(took)/2].Nanoseconds()), "p50-ms")
	b.ReportMetric(milliseconds(took[len(took)*99/100].Nanoseconds()), "p99-ms")
	all := ended.Utime.Nano() + ended.Stime.Nano() - began.Utime.Nano() - began.Stime.Nano()
	b.ReportMetric(milliseconds(all/int64(len(took))), "cpu-ms/op")
}
