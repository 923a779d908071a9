package plan_test

import (
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// How long Crossplane waits if nothing changes, by the input and by what Crossplane watches.
func TestFreshness(t *testing.T) {
	const (
		fromDB  = `secrets: [{name: a, from: db, data: [{key: p, value: secret.password}]}]`
		context = `secrets: [{name: a, data: [{key: p, value: "context['example.org/a']"}]}]`
		env     = `secrets: [{name: a, data: [{key: p, value: environment.region}]}]`
		authors = `fromComposite: {fieldPath: spec.exports, allow: {environment: true}}`
		config  = `environment: {environmentConfigs: [{type: Reference, ref: {name: a}}]}`
		named   = `{sources: [{name: s, apiVersion: v1, kind: ConfigMap, nameExpression: context.name}], ` +
			`configMaps: [{name: a, data: [{key: p, value: sources.s.data.p}]}]}`
		unread = `{sources: [{name: s, apiVersion: v1, kind: ConfigMap, nameExpression: context.name}], ` +
			`configMaps: [{name: a, data: [{key: p, value: "'p'"}]}]}`
	)
	all := plan.Watches{Objects: true, Environment: true}
	for name, c := range map[string]struct {
		reason, input string
		watches       plan.Watches
		want          time.Duration
	}{
		"Watch": {"Crossplane watches all that is read", fromDB, all, 10 * time.Minute},
		"Poll":  {"the input does not rely on it", "{freshness: Poll, " + fromDB + "}", all, time.Minute},
		"TTL": {"what the input sets is used", "{ttl: 7s, " + fromDB + "}", plan.Watches{},
			7 * time.Second},
		"Never": {"0s is a time that the input sets", "{ttl: 0s, freshness: Poll, " + fromDB + "}", all,
			0},
		"Unwatched": {"Crossplane does not watch required objects", fromDB, plan.Watches{Environment: true},
			time.Minute},
		"Context":     {"another step may set any value", context, all, time.Minute},
		"Environment": {"no other step made an environment", env, all, 10 * time.Minute},
		"EarlierEnvironment": {"another step may have read it from anywhere", env, plan.Watches{Objects: true},
			time.Minute},
		"EarlierMerged": {"a part of what this step passes on is from there", config,
			plan.Watches{Objects: true}, time.Minute},
		"EnvironmentConfigs": {"Crossplane watches those that the input requires", config, all, 10 * time.Minute},
		"EarlierForAuthors": {"expressions of composite authors may read it", authors, plan.Watches{Objects: true},
			time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			p, diagnostics := plantest.Compile(t, plantest.Exports(c.input))
			if len(diagnostics) > 0 {
				t.Fatal(diagnostics)
			}
			if got := p.Freshness.After(c.watches); got != c.want {
				t.Errorf("After(%+v): %s: want %s, got %s", c.watches, c.reason, c.want, got)
			}
		})
	}
}
