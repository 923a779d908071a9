package expression_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
	"github.com/crossplane-contrib/function-export/internal/testdata/attack"
)

// costFloor is too small to count, of 250,000.
const costFloor = 10

// used is the fuel of one evaluation, and whether it came to an end.
func used(t testing.TB, o *observation.Observation, x *expression.Expression) (int64, bool) {
	t.Helper()
	b := budget.New(context.Background())
	_, err := x.Evaluate(context.Background(), o.Scope(x.Source().From, nil), b)
	return limits.RequestFuel - b.Left(), err == nil
}

// estimated are expressions as exports have them, over the sample observation.
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
	"hex.encode(hash.sha512(secret.password))",
	"base64url.encode(hmac.sha256(secret.password, secret.username + '.' + resource.status.host))",
	"string(hex.decode(hex.encode(secret.password)))",
	"pem.join(pem.split('-----BEGIN A-----\\nYQ==\\n-----END A-----\\n'))",
	"pem.privateKey('-----BEGIN PRIVATE KEY-----\\nYQ==\\n-----END PRIVATE KEY-----\\n')",
	"json.encode(resource.metadata.labels.merge({'h': 1}))",
	"properties.encode({'host': resource.status.host, 'password': secret.password})",
	"dotenv.encode({'HOST': resource.status.host, 'PASSWORD': secret.password})",
	"toml.encode({'labels': resource.metadata.labels, 'password': secret.password})",
	"jdbc.url({'driver': 'postgresql', 'host': resource.status.host, 'username': secret.username, 'password': secret.password})",
	"pgpass.encode([{'host': resource.status.host, 'password': secret.password}])",
	"secret.merge({'host': resource.status.host}).host",
	"url('https://' + resource.status.host + ':1/a?b=c').getHostname()",
	"url('https://' + resource.status.host).getQuery().size()",
	"isURL(resource.status.host) ? 'a' : 'b'",
	"string(cidr('10.0.0.0/8').containsIP('10.1.2.3'))",
	"string(cidr('10.0.0.0/8').masked()) + string(ip('::1'))",
	"quantity('1Gi').add(quantity('1Mi')).isLessThan(quantity('2Gi')) ? 'a' : 'b'",
	"semver('v1.2', true).compareTo(semver('1.2.3-rc.1')) < 0 ? 'a' : 'b'",
	"format.dns1123Subdomain().validate(resource.status.host).hasValue() ? 'a' : 'b'",
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

// The law: what data of the usual size takes is at most twice the estimate. The estimate
// is of the largest data that is usual, so it may be much more than what is used.
func TestCostIsNotExceeded(t *testing.T) {
	compare := func(name string, o *observation.Observation, x *expression.Expression) {
		n, ended := used(t, o, x)
		if !ended {
			return
		}
		if c := x.Cost(); n > 2*max(c.Max, costFloor) || c.Max > 500*max(n, costFloor) {
			t.Errorf("%s: estimated %d, used %d", name, c.Max, n)
		} else if testing.Verbose() {
			t.Logf("%6d for %6d: %s", c.Max, n, name)
		}
	}
	o := sampleObservation(t)
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
}

// observedDatabase is a managed resource as a provider leaves it.
func observedDatabase(t testing.TB) wire.Struct {
	t.Helper()
	b, err := os.ReadFile("../../../example/postgresql-url/observed.yaml")
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

// If an expression reaches the cost limit with any data, its estimated cost is above the limit. If
// its source keeps its cost small, the estimate is below the limit.
func TestCostAndLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   string
		over   bool
	}{
		"Quadratic":   {"A million additions.", "lists.range(1000).map(i, lists.range(1000).map(j, i + j).size())", true},
		"Cubic":       {"Three loops of a hundred.", "lists.range(100).all(a, lists.range(100).all(b, lists.range(100).all(c, a + b + c >= 0)))", true},
		"Distinct":    {"Each of ten thousand with each other.", "lists.range(10000).distinct().size()", true},
		"LongLoop":    {"One loop of a thousand is honest.", "lists.range(1000).map(i, i * 2).size()", false},
		"Conditional": {"The dearer branch counts.", "composite.x ? 0 : lists.range(1000).map(i, lists.range(1000).map(j, i - j)).size()", true},
		"Ordinary":    {"A URL is a thousandth.", estimated[1], false},
		"Nothing":     {"A selection makes no call.", "secret.password", false},
		"Bound":       {"A local variable is as large as what it stands for.", "cel.bind(l, lists.range(1000), l.map(i, l.map(j, i * j)).size())", true},
		"Shadowed":    {"A loop over a small list, whatever its variable is called.", "[1, 2].map(composite, json.encode(composite)).join(',')", false},
	} {
		t.Run(name, func(t *testing.T) {
			x := compile(t, tc.text, expression.WantAny, "db")
			c := x.Cost()
			if over := c.Max > c.Limit; over != tc.over {
				t.Errorf("%s\nestimated %d of %d", tc.reason, c.Max, c.Limit)
			}
			if tc.over && !strings.Contains(tc.text, "composite.x") {
				if n, ended := used(t, sampleObservation(t), x); ended || n < limits.Fuel/2 {
					t.Errorf("%s\nit used %d only, and ended: %t", tc.reason, n, ended)
				}
			}
		})
	}
}

// Hostile expressions have an estimate, which is no negative number.
func TestCostOfAttacks(t *testing.T) {
	for name, text := range attack.Expressions(limits.ExpressionCharacters) {
		if x, faults := env.Compile(expression.Source{Text: text, Path: "here"}); len(faults) == 0 && x.Cost().Max < 0 {
			t.Errorf("%s: %+v", name, x.Cost())
		}
	}
}

func ExampleExpression_Cost() {
	x, _ := env.Compile(expression.Source{Text: "resource.items.map(i, i.name).join(',')", Path: "value"})
	fmt.Println(x.Cost().Max, x.Cost().Limit)
	// Output: 274 250000
}
