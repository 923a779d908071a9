package expression_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/attack"
	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// estimateFloor is what nobody counts, of 250,000.
const estimateFloor = 10

// ratio of an estimate to what was used.
func ratio(expected, used int64) float64 {
	return float64(max(expected, estimateFloor)) / float64(max(used, estimateFloor))
}

// used is the fuel of one evaluation, and whether it came to an end.
func used(t testing.TB, o *observation.Observation, x *expression.Expression) (int64, bool) {
	t.Helper()
	b := budget.New(context.Background())
	_, err := x.Evaluate(context.Background(), o.Scope(x.Source().From, nil), b)
	return limits.RequestFuel - b.Left(), err == nil
}

// estimated are expressions as exports have them, over the world of the other tests.
var estimated = []string{
	"secret.password",
	"'postgres://%s:%s@%s:%d/app'.format([secret.username, url.queryEscape(secret.password), resource.status.host, resource.spec.port])",
	"secret.username + ':' + secret.password",
	"base64.encode(bytes(secret.username + ':' + secret.password))",
	"dockerconfigjson('registry.example.org', secret.username, secret.password)",
	"json.encode({'user': secret.username, 'host': resource.status.host, 'port': resource.spec.port})",
	"yaml.encode({'user': secret.username, 'host': resource.status.host})",
	"json.encode(resources.rds)",
	"yaml.encode(resources.rds)",
	"json.encode(resources.rds.spec)",
	"yaml.encode(resources.rds.status)",
	"json.encode(resource.metadata.labels)",
	"json.encode(resources.db.status)",
	`json.decode('{"a": {"b": "c"}, "d": [1, 2, 3]}').a.b`,
	`yaml.decode("a: {b: c}\nd: [1, 2, 3]").a.b`,
	"resource.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True') ? 'ready' : 'waiting'",
	"resource.status.conditions.filter(c, c.type == 'Ready').map(c, c.status).join(',')",
	"resource.status.conditions.map(c, c.type + '=' + c.?status.orValue('Unknown')).join(';')",
	"resource.metadata.labels.map(k, k + '=' + string(resource.metadata.labels[k])).join(',')",
	"json.encode(resource.metadata.labels.transformMap(k, v, v * 2))",
	"json.encode(resource.metadata.labels.transformMapEntry(k, v, {k.upperAscii(): string(v)}))",
	"json.encode(resource.metadata.labels.transformList(k, v, k))",
	"resources.map(n, n).join(',')",
	"secrets.map(n, secrets[n].map(k, n + '/' + k).join(',')).join(';')",
	"resource.status.conditions.all(c, c.type != '') ? 'all' : 'some'",
	"string(resource.status.conditions.exists_one(c, c.type == 'Ready'))",
	"'a,b,c,d'.split(',').map(x, x.upperAscii()).join('-')",
	"sha256(secret.password)",
	"resource.status.host.split('.')[0]",
	"resource.status.host.replace('.', '-')",
	"resource.status.host.matches('^[a-z]+[.]example[.]org$') ? 'a' : 'b'",
	"regex.replace(resource.status.host, '[.]', '-')",
	"regex.extract(resource.status.host, '^([a-z]+)[.]').orValue('none')",
	"resource.status.host.substring(0, 2) + resource.status.host.charAt(3)",
	"'region' in composite.spec ? composite.spec.region : 'none'",
	"resource.spec.port in [5432, 5433] ? 'known' : 'other'",
	"has(resource.status.host) ? resource.status.host : 'none'",
	"cel.bind(h, resource.status.host, h + ':' + string(resource.spec.port) + ',' + h)",
	"[3, 1, 2].sort().map(x, string(x)).join(',')",
	"resource.status.conditions.sortBy(c, c.type).map(c, c.type).join(',')",
	"['a', 'b', 'a'].distinct().join(',')",
	"sets.contains(['a', 'b'], ['a']) ? 'yes' : 'no'",
	"[[1, 2], [3]].flatten().map(x, string(x)).join('')",
	"lists.range(20).map(i, string(i)).join(',')",
	"lists.range(30).map(i, lists.range(30).filter(j, j <= i).size()).map(n, string(n)).join(',')",
	"resource.status.host == 'db.example.org' ? 'same' : 'other'",
	"resource.metadata.labels == {'a': 1} ? 'same' : 'other'",
	"math.greatest(resource.spec.port, 1000) > 1000 ? 'high' : 'low'",
	"json.encode({'a': {'b': {'c': [secret.username, secret.password]}}})",
	"resource.metadata.labels.exists(k, k == 'c') ? 'yes' : 'no'",
	"optional.of(resource.status.host).optMap(h, h + '!').orValue('')",
	"secrets.ca['ca.crt']",
	"sources.many.map(m, m.data.id).join(',')",
}

// The law: an estimate is within a factor of ten of what data of the usual size takes.
func TestEstimateIsNearTheTruth(t *testing.T) {
	var ratios []float64
	compare := func(name string, o *observation.Observation, x *expression.Expression) {
		n, ended := used(t, o, x)
		if !ended {
			return
		}
		e := x.Estimate()
		r := ratio(e.Expected, n)
		ratios = append(ratios, r)
		if r > 10 || r < 0.1 {
			t.Errorf("%s: estimated %d (%d of it %s at %s), used %d", name, e.Expected, e.Share, e.Call, e.Place, n)
		}
		if testing.Verbose() && n > estimateFloor {
			t.Logf("%5.2f: %6d for %6d: %s", r, e.Expected, n, name)
		}
	}
	o := world(t)
	o.Resources["rds"] = observation.Resource{Object: observedDatabase(t)}
	for _, text := range estimated {
		x := compile(t, text, expression.WantAny, "db")
		if _, ended := used(t, o, x); !ended {
			t.Errorf("%s: does not come to an end", text)
		}
		compare(text, o, x)
	}
	for _, tc := range asoCases(t) {
		self, err := structpb.NewStruct(tc.Self)
		if err != nil {
			t.Fatal(err)
		}
		details := observation.Details{}
		for k, v := range tc.Secrets {
			details[k] = []byte(v)
		}
		x, faults := env.Compile(expression.Source{Text: tc.Expression, Path: "here"})
		if len(faults) == 0 {
			compare(tc.Name, &observation.Observation{Composite: observation.Resource{Object: wire.Of(self), Details: details}}, x)
		}
	}
	slices.Sort(ratios)
	t.Logf("%d expressions: estimate by use is %.2f at least, %.2f, %.2f and %.2f at the quartiles, %.2f at most",
		len(ratios), ratios[0], ratios[len(ratios)/4], ratios[len(ratios)/2], ratios[len(ratios)*3/4], ratios[len(ratios)-1])
}

// observedDatabase is a managed resource as a provider leaves it.
func observedDatabase(t testing.TB) wire.Struct {
	t.Helper()
	b, err := os.ReadFile("../../example/postgresql-url/observed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range strings.Split(string(b), "\n---") {
		if strings.Contains(doc, "kind: Instance") {
			return object(t, doc)
		}
	}
	t.Fatal("no Instance is observed")
	return wire.Struct{}
}

func asoCases(t testing.TB) []asoCase {
	t.Helper()
	b, err := os.ReadFile("testdata/aso-cel.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := struct {
		Cases []asoCase `json:"cases"`
	}{}
	if err := yaml.Unmarshal(b, &file); err != nil || len(file.Cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	return file.Cases
}

// What is stopped for what its source alone has it do is estimated over the limit, and
// what its source keeps small is not.
func TestEstimateKnowsTheLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   string
		over   bool
		call   string
		place  string
	}{
		"Quadratic":     {"A million additions.", "lists.range(1000).map(i, lists.range(1000).map(j, i + j).size())", true, "+", "here:1:53"},
		"Cubic":         {"Three loops of a hundred.", "lists.range(100).all(a, lists.range(100).all(b, lists.range(100).all(c, a + b + c >= 0)))", true, "", ""},
		"Distinct":      {"Each of ten thousand with each other.", "lists.range(10000).distinct().size()", true, "distinct", "here:1:28"},
		"LongLoop":      {"One loop of a thousand is honest.", "lists.range(1000).map(i, i * 2).size()", false, "*", "here:1:28"},
		"Conditional":   {"The dearer branch counts.", "composite.x ? 0 : lists.range(1000).map(i, lists.range(1000).map(j, i - j)).size()", true, "-", "here:1:71"},
		"Ordinary":      {"A URL is a thousandth.", estimated[1], false, "format", "here:1:36"},
		"Nothing":       {"A selection makes no call.", "secret.password", false, "", ""},
		"Bound":         {"A local variable is as large as what it stands for.", "cel.bind(l, lists.range(1000), l.map(i, l.map(j, i * j)).size())", true, "*", "here:1:52"},
		"Shadowed":      {"A loop over a small list, whatever its variable is called.", "[1, 2].map(composite, json.encode(composite)).join(',')", false, "", ""},
		"Shadow global": {"The global one, in spite of the local one.", "cel.bind(composite, 1, json.encode(.composite))", false, "json.encode", "here:1:35"},
	} {
		t.Run(name, func(t *testing.T) {
			x := compile(t, tc.text, expression.WantAny, "db")
			e := x.Estimate()
			if over := e.Expected > e.Limit; over != tc.over {
				t.Errorf("%s\nestimated %d of %d", tc.reason, e.Expected, e.Limit)
			}
			if tc.over && !strings.Contains(tc.text, "composite.x") {
				if n, ended := used(t, world(t), x); ended || n < limits.Fuel/2 {
					t.Errorf("%s\nit used %d only, and ended: %t", tc.reason, n, ended)
				}
			}
			if tc.call != "" && (e.Call != tc.call || e.Place != tc.place) || e.Expected == 0 && e.Place != "" {
				t.Errorf("%s\nwant %q at %s, got %q at %s, %d of %d", tc.reason, tc.call, tc.place, e.Call, e.Place, e.Share, e.Expected)
			}
		})
	}
}

// A variable that is named as the global one is as large as that, whatever a local one of
// its name is.
func TestEstimateKnowsTheVariable(t *testing.T) {
	local := compile(t, "cel.bind(composite, 1, json.encode(composite))", expression.WantAny, "db").Estimate()
	global := compile(t, "cel.bind(composite, 1, json.encode(.composite))", expression.WantAny, "db").Estimate()
	if local.Expected > estimateFloor || global.Expected <= estimateFloor {
		t.Errorf("the local one takes %d, the global one %d", local.Expected, global.Expected)
	}
}

// How the hostile expressions are estimated is only logged: what they read is as large as
// no expression says.
func TestEstimateOfAttacks(t *testing.T) {
	over, all := 0, 0
	for name, text := range attack.Expressions(limits.ExpressionCharacters) {
		x, faults := env.Compile(expression.Source{Text: text, Path: "here"})
		if len(faults) > 0 {
			continue
		}
		e := x.Estimate()
		if e.Expected < 0 || e.Share > e.Expected || (e.Share > 0) != (e.Place != "") {
			t.Errorf("%s: %+v", name, e)
		}
		all++
		if e.Expected > e.Limit {
			over++
		}
	}
	t.Logf("%d of %d hostile expressions are estimated over the limit", over, all)
}

// An estimate is one number for one expression, whatever it is.
func FuzzEstimateIsStable(f *testing.F) {
	for _, text := range estimated {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, faults := env.Compile(expression.Source{Text: text, Path: "here"})
		if len(faults) > 0 {
			return
		}
		first := x.Estimate()
		if second := x.Estimate(); first != second {
			t.Errorf("%+v, and then %+v", first, second)
		}
		if first.Expected < 0 || first.Share > first.Expected || float64(first.Expected) > math.MaxInt32 {
			t.Errorf("%+v", first)
		}
	})
}

func ExampleExpression_Estimate() {
	x, _ := env.Compile(expression.Source{Text: "resource.items.map(i, i.name).join(',')", Path: "value"})
	e := x.Estimate()
	fmt.Println(e.Expected, e.Limit, e.Call, e.Place)
	// Output: 23 250000 join value:1:35
}
