package expression_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

func TestReads(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"Strict":      {"What is selected is needed.", "resource.status.host + secret.password", []string{"resources.db.status.host required", "secrets.db.password required"}},
		"Once":        {"However often it is read.", "secret.password + secret.password", []string{"secrets.db.password required"}},
		"Index":       {"An index is a select.", "resource['status']['a.b'] + resource.list[0]", []string{"resources.db.status['a.b'] required", "resources.db.list[0] required"}},
		"Optional":    {"What leads to an optional step is needed.", "composite.spec.?region.orValue('eu')", []string{"composite.spec.region optional", "composite.spec required"}},
		"OptionalTop": {"A step below a map of inputs needs nothing.", "secrets.?ca[?'ca.crt']", []string{"secrets.ca['ca.crt'] optional"}},
		"From":        {"The resource itself is needed.", "resource.?status.?host.orValue('')", []string{"resources.db.status.host optional", "resources.db required"}},
		"FromKnown":   {"But it is no input by itself beside what needs it.", "resource.?status.?host.orValue('') + secret.password", []string{"resources.db.status.host optional", "secrets.db.password required"}},
		"Has":         {"What has tests may be absent, not what holds it.", "has(composite.spec.size) ? 'a' : 'b'", []string{"composite.spec.size optional", "composite.spec required"}},
		"HasThenRead": {"What was tested is not waited for.", "has(composite.spec.size) ? composite.spec.size : 3", []string{"composite.spec.size optional", "composite.spec required"}},
		"Branch":      {"A branch may not be taken.", "composite.spec.a ? resource.b : 'c'", []string{"composite.spec.a required", "resources.db.b conditional"}},
		"BranchBoth":  {"What is needed anyway is needed.", "composite.a ? composite.b : composite.a", []string{"composite.a required", "composite.b conditional"}},
		"Or":          {"Either side decides.", "composite.a || composite.b", []string{"composite.a conditional", "composite.b conditional"}},
		"And":         {"Either side decides.", "composite.a && composite.b", []string{"composite.a conditional", "composite.b conditional"}},
		"BesideOr":    {"A condition ends with its operands.", "(composite.a || composite.b) == composite.c", []string{"composite.a conditional", "composite.b conditional", "composite.c required"}},
		"InBranch":    {"Also what is not the value of the branch.", "composite.a ? [composite.b] : [composite.c]", []string{"composite.a required", "composite.b conditional", "composite.c conditional"}},
		"OrOptional":  {"The other optional is read if it is needed.", "composite.?a.or(optional.of(composite.b)).value()", []string{"composite.a optional", "composite.b conditional"}},
		"Default":     {"The default is read if it is needed.", "composite.?a.orValue(composite.b)", []string{"composite.a optional", "composite.b conditional"}},
		"Computed":    {"Also of what is computed.", "regex.extract(secret.a, 'x').orValue(composite.b)", []string{"secrets.db.a required", "composite.b conditional"}},
		"Loop":        {"The list is needed; its elements if there are any.", "resource.list.map(x, x.name)", []string{"resources.db.list required", "resources.db.list[*].name conditional"}},
		"Chosen":      {"So is what is below what a condition chooses.", "(composite.a ? resource : composite.b).host", []string{"composite.a required", "resources.db.host conditional", "composite.b.host conditional"}},
		"ChosenBound": {"Also through a local variable.", "cel.bind(x, composite.a ? resource : composite.b, x.host)", []string{"composite.a required", "resources.db.host conditional", "composite.b.host conditional"}},
		"Bind":        {"A local variable is what it stands for.", "cel.bind(x, resource.spec, x.port)", []string{"resources.db.spec.port required"}},
		"BindChosen":  {"A condition chooses only where it is.", "cel.bind(x, secret.a, (composite.b ? x : '') + x)", []string{"composite.b required", "secrets.db.a required"}},
		"Shadow":      {"A local variable of the name of another one is not that.", "[1].map(secret, secret)", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range compile(t, tc.text, expression.WantAny, "db").Reads() {
				got = append(got, r.Text+" "+r.Need.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSpelled(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []expression.SpelledKey
		all  bool
	}{
		"Literal":  {"{'a': secret.password, 'b': 'x'}", []expression.SpelledKey{{Name: "a"}, {Name: "b"}}, true},
		"Optional": {"{'a': 'x', ?'b': secret.?password}", []expression.SpelledKey{{Name: "a"}, {Name: "b", Optional: true}}, true},
		"Computed": {"{'a': 'x', 'b' + 'c': 'y'}", []expression.SpelledKey{{Name: "a"}}, false},
		"NoMap":    {"secret", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, all := compile(t, tc.text, expression.WantTextMap, "db").Spelled()
			if diff := cmp.Diff(tc.want, got); diff != "" || all != tc.all {
				t.Errorf("all: %t\n%s", all, diff)
			}
		})
	}
}

// without is the sample observation without one input, and whether it had that.
func without(t *testing.T, o *observation.Observation, r expression.Read) bool {
	t.Helper()
	var keys []string
	for _, s := range r.Path {
		k, ok := s.Key.(string)
		if !ok {
			return false
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return false
	}
	if r.Variable == expression.Resource || r.Variable == expression.Secret {
		keys = append([]string{"db"}, keys...)
	}
	switch r.Variable {
	case expression.Composite:
		s := proto.CloneOf(o.Composite.Object.Proto())
		o.Composite.Object = wire.Of(s)
		return removed(s, keys)
	case expression.Resource, expression.Resources:
		res, ok := o.Resources[keys[0]]
		o.Resources = maps.Clone(o.Resources)
		if len(keys) == 1 {
			delete(o.Resources, keys[0])
			return ok
		}
		s := proto.CloneOf(res.Object.Proto())
		res.Object = wire.Of(s)
		o.Resources[keys[0]] = res
		return removed(s, keys[1:])
	case expression.Secret, expression.Secrets:
		res, ok := o.Resources[keys[0]]
		if !ok || len(keys) != 2 {
			return false
		}
		o.Resources = maps.Clone(o.Resources)
		res.Details = maps.Clone(res.Details)
		_, ok = res.Details[keys[1]]
		delete(res.Details, keys[1])
		o.Resources[keys[0]] = res
		return ok
	}
	return false
}

func removed(s *structpb.Struct, keys []string) bool {
	for _, k := range keys[:len(keys)-1] {
		if s = s.GetFields()[k].GetStructValue(); s == nil {
			return false
		}
	}
	last := keys[len(keys)-1]
	_, ok := s.GetFields()[last]
	delete(s.GetFields(), last)
	return ok
}

// The law: an expression that ends waits if one input that it requires is taken away, and
// does not wait for one that it can do without.
func TestNeedsAreTrue(t *testing.T) {
	texts := []string{
		"resource.status.?host.orValue('none')",
		"resource.?status.?host.orValue('none')",
		"has(resource.status.host) ? resource.status.host : secret.password",
		"composite.spec.?region.orValue(resource.spec.port)",
		"composite.spec.region == 'eu' || resource.spec.port == 1 ? 'a' : 'b'",
		"composite.spec.region == 'us' ? resource.spec.port : 0",
		"resources.?db.?status.?host.orValue('none')",
		"secrets.?db.?password.orValue('none')",
		"'password' in secret ? secret.password : ''",
		"{'a': secret.username, ?'b': secret.?password}",
		"cel.bind(s, resource.?status, s.?host.orValue('x'))",
		"resources.db.?status.hasValue() ? 'a' : 'b'",
		"'postgres://%s@%s:%d'.format([secret.username, resource.status.host, resource.spec.port])",
		"resource.status.conditions.map(c, c.type + '=' + c.?status.orValue('Unknown')).join(';')",
		"resource.metadata.labels.map(k, k + '=' + string(resource.metadata.labels[k])).join(',')",
		"secrets.map(n, secrets[n].map(k, n + '/' + k).join(',')).join(';')",
		"json.encode(resource.metadata.labels.transformMap(k, v, v * 2))",
		"secret.merge({'host': resource.status.host}).host",
		"resource.status.host.matches('^[a-z]+[.]example[.]org$') ? 'a' : 'b'",
		"'region' in composite.spec ? composite.spec.region : 'none'",
		"resource.spec.port in [5432, 5433] ? 'known' : 'other'",
		"cel.bind(h, resource.status.host, h + ':' + string(resource.spec.port) + ',' + h)",
		"resource.status.conditions.sortBy(c, c.type).map(c, c.type).join(',')",
		"optional.of(resource.status.host).optMap(h, h + '!').orValue('')",
		"secrets.ca['ca.crt']",
	}
	checked := map[expression.Need]int{}
	for _, text := range texts {
		x := compile(t, text, expression.WantAny, "db")
		for _, r := range x.Reads() {
			o := sampleObservation(t)
			_, err := x.Evaluate(context.Background(), o.Scope("db", nil), budget.New(context.Background()))
			if err != nil || !without(t, o, r) {
				continue
			}
			_, err = x.Evaluate(context.Background(), o.Scope("db", nil), budget.New(context.Background()))
			var w *expression.Waiting
			waits := errors.As(err, &w)
			checked[r.Need]++
			if r.Need == expression.Required && !waits {
				t.Errorf("%s: %s is required, and without it: %v", text, r.Text, err)
			}
			if r.Need == expression.Optional && waits && strings.Contains(err.Error(), r.Text) {
				t.Errorf("%s: %s is optional, and without it: %v", text, r.Text, err)
			}
		}
	}
	for _, n := range []expression.Need{expression.Optional, expression.Conditional, expression.Required} {
		if checked[n] < 4 {
			t.Errorf("want at least 4 inputs that are %s, got %d", n, checked[n])
		}
	}
	t.Logf("%v", checked)
}
