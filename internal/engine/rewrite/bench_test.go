package rewrite

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

var benchRules = []Regexp{
	{Source: `^cache/(.*)$`, Target: "REDIS_$1"},
	{Source: `(?P<kind>host|port)-(?P<n>[0-9]+)`, Target: "${kind}_$n"},
	{Source: `[^a-zA-Z0-9_]`, Target: "_"},
}

// BenchmarkRegexp is 1,000 keys through three rules: all of Apply, and the bare
// calls of the regexp package.
func BenchmarkRegexp(b *testing.B) {
	var keys []Key
	var o Options
	for i := range 1000 {
		name := fmt.Sprintf("cache/primary/%s-%03d", []string{"host", "port"}[i%2], i)
		keys = append(keys, Key{Name: name, Value: sensitive.FromString("10.0.0.1"), Origins: []Origin{{"cache", name}}})
	}
	for _, rule := range benchRules {
		o.Rules = append(o.Rules, Rule{Regexp: &rule})
	}
	b.Run("apply", func(b *testing.B) {
		r, faults := Compile(o)
		if faults != nil {
			b.Fatal(faults)
		}
		b.ReportAllocs()
		for b.Loop() {
			if got, err := r.Apply(fresh(), keys); err != nil || len(got) != len(keys) {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		var compiled []*regexp.Regexp
		for _, rule := range benchRules {
			compiled = append(compiled, regexp.MustCompile(rule.Source))
		}
		b.ReportAllocs()
		for b.Loop() {
			for _, k := range keys {
				name := k.Name
				for i, re := range compiled {
					name = re.ReplaceAllString(name, benchRules[i].Target)
				}
			}
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	o := Options{Rules: []Rule{regexpRule(benchRules[1].Source, benchRules[1].Target), templateRule(`{{ .value | upper | replace "-" "_" }}`)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, faults := Compile(o); faults != nil {
			b.Fatal(faults)
		}
	}
}
