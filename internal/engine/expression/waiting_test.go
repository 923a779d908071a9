package expression_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// canary is in each text and key of fullObservation that expressions can read, and
// in no expression.
const canary = "CANARY"

func fullObservation(t testing.TB) *observation.Observation {
	t.Helper()
	return &observation.Observation{
		Composite: observation.Resource{Object: object(t, `{spec: {name: CANARY-xr, size: 3}}`)},
		Resources: map[string]observation.Resource{
			"db": {
				Object: object(t, `
spec: {port: 5432, name: CANARY-db, tags: [CANARY-b, CANARY-a], labels: {CANARY-k2: CANARY-2, CANARY-k1: CANARY-1}}
status:
  host: CANARY-host
  items: [{name: CANARY-n1, port: 1}, {name: CANARY-n2, port: 2}]
  nested: {deep: {name: CANARY-deep, list: [[CANARY-x]]}}`),
				Details: observation.Details{"username": []byte("CANARY-user"), "password": []byte("CANARY-pass")},
			},
			"cache": {
				Object:  object(t, `{status: {host: CANARY-cache}}`),
				Details: observation.Details{"token": []byte("CANARY-token")},
			},
		},
	}
}

// text writes an expression that gives a string wherever everything it reads is
// there, and that cannot fail.
func (w *writer) text(depth int) string {
	e := func() string { return w.text(depth - 1) }
	leaf := func() string {
		return w.of("resource.status.host", "resource.spec.name", "resources.db.status.host",
			"resources.cache.status.host", "composite.spec.name",
			"secret.username", "secret['password']", "secrets.db.password", "secrets['cache'].token", "resource."+
				"status.items[1].name", "resource.spec.tags[0]",
			"resource.status.nested.deep.name", "resource['status']['nested'].deep['name']", "resource.status.nested."+
				"deep.list[0][0]", "self.spec.name")
	}
	optional := func() string {
		return w.of(
			"resource.?status.?host", "resource.status.?nope", "resources[?'cache'].?status.?host",
			"secret.?password", "resource.status.?items[?1].?name", "resource.spec.?tags[?5]",
		)
	}
	number := func() string {
		return w.of(
			"resource.spec.port", "composite.spec.size", "resource.status.items[0].port",
			"resource.status.items.size()", "size(resource.spec.labels)",
		)
	}
	condition := func() string {
		return w.of("has(resource.status.host)", "has(resource.status.nope)", "resource.spec.port > 10",
			"'x' in resource.spec.tags",
			"secret.username == 'x'",
			"resource.status.items.exists(i, i.port == 2)", "resource.spec.tags.all(x, x != '')", "resource.?status."+
				"?host.hasValue()", "resource.spec.labels == {}")
	}
	if depth <= 0 {
		return leaf()
	}
	switch w.IntN(29) {
	case 0, 1:
		return "(" + e() + " + " + e() + ")"
	case 2, 3:
		return "(" + condition() + " ? " + e() + " : " + e() + ")"
	case 4:
		return optional() + ".orValue(" + e() + ")"
	case 5:
		return optional() + ".or(optional.of(" + e() + ")).value()"
	case 6:
		return optional() + ".optMap(v, v + " + e() + ").orValue(" + e() + ")"
	case 7:
		return "cel.bind(s, resource.status, s.host + " + e() + ")"
	case 8:
		return "cel.bind(s, " + e() + ", s + s)"
	case 9:
		return "resource.status.items.map(i, i.name + " + e() + ").join(',')"
	case 10:
		return "resource.status.items.filter(i, i.port > 0)[1].name"
	case 11:
		return "string(" + number() + " + " + number() + ")"
	case 12:
		return "'%d-%s'.format([" + number() + ", " + e() + "])"
	case 13:
		return w.of("resource.spec.labels", "resource.spec.labels.merge({'k': "+e()+"})", "secret.merge(resource.spec."+
			"labels)") + ".map(k, resource.spec.labels[?k].orValue(k)).join('')"
	case 14:
		return "json.encode(" + w.of("resource.spec.labels", "resource.status.items", "secrets", "secret",
			"resource.status.items.map(i, i.port)") + ")"
	case 15:
		return "resource.spec.labels.transformList(k, v, k + v + " + e() + ").join('')"
	case 16:
		return "url.queryEscape(" + e() + ").upperAscii()"
	case 17:
		return "{'k': " + e() + "}.k"
	case 18:
		return "[" + e() + ", " + e() + "].sort().join('')"
	case 19:
		return "resource.status.items.sortBy(i, i.port)[0].name"
	case 20:
		return "resource.spec.tags.map(t, t + " + e() + ").join()"
	case 21:
		return w.of("sha256("+e(), "hex.encode(hash.md5("+e()+")", "base64url.encode(hmac.sha256('k', "+e()+")",
			"dotenv.encode({'K': "+e()+"}",
			"pem.join(pem.split('-----BEGIN A-----\\n' + base64.encode(bytes("+e()+")) + '\\n-----END A-----')") + ")"
	case 22:
		return "(resource.spec.tags + resource.status.items.map(i, i.name)).join('')"
	case 23:
		return "string(" + number() + " * 2 - -" + number() + ")"
	case 24:
		return w.of("json.encode", "properties.encode", "toml.encode") +
			"({?'a': " + optional() + ", 'b': " + e() + "})"
	case 25:
		return "string(" + w.of("isURL(", "isIP(", "isCIDR(", "isSemver(", "isQuantity(") + e() + "))"
	case 26:
		return "url('/' + url.pathEscape(" + e() + ")).getEscapedPath()"
	case 27:
		return "format.uri().validate(" + e() + ").orValue([]).join()"
	}
	return "string(bytes(" + e() + "))"
}

// A removal takes one thing away, or makes it null.
func removals(o *observation.Observation) []func(*observation.Observation) {
	var out []func(*observation.Observation)
	var below func(at func(*observation.Observation) *structpb.Value, v *structpb.Value)
	below = func(at func(*observation.Observation) *structpb.Value, v *structpb.Value) {
		for k, e := range v.GetStructValue().GetFields() {
			out = append(out,
				func(o *observation.Observation) { delete(at(o).GetStructValue().GetFields(), k) },
				func(o *observation.Observation) { at(o).GetStructValue().Fields[k] = structpb.NewNullValue() })
			below(func(o *observation.Observation) *structpb.Value { return at(o).GetStructValue().GetFields()[k] }, e)
		}
		for i, e := range v.GetListValue().GetValues() {
			out = append(out,
				func(o *observation.Observation) { l := at(o).GetListValue(); l.Values = l.GetValues()[:i] },
				func(o *observation.Observation) { at(o).GetListValue().Values[i] = structpb.NewNullValue() })
			below(func(o *observation.Observation) *structpb.Value { return at(o).GetListValue().GetValues()[i] }, e)
		}
	}
	below(func(o *observation.Observation) *structpb.Value {
		return structpb.NewStructValue(o.Composite.Object.Proto())
	}, structpb.NewStructValue(o.Composite.Object.Proto()))
	for name, r := range o.Resources {
		out = append(out, func(o *observation.Observation) { delete(o.Resources, name) })
		below(func(o *observation.Observation) *structpb.Value {
			return structpb.NewStructValue(o.Resources[name].Object.Proto())
		}, structpb.NewStructValue(r.Object.Proto()))
		for k := range r.Details {
			out = append(out, func(o *observation.Observation) { delete(o.Resources[name].Details, k) })
		}
	}
	return out
}

func copyOf(o *observation.Observation) *observation.Observation {
	out := &observation.Observation{
		Composite: observation.Resource{Object: wire.Of(proto.CloneOf(o.Composite.Object.Proto()))},
		Resources: map[string]observation.Resource{},
	}
	for name, r := range o.Resources {
		d := observation.Details{}
		for k, v := range r.Details {
			d[k] = v
		}
		out.Resources[name] = observation.Resource{Object: wire.Of(proto.CloneOf(r.Object.Proto())), Details: d}
	}
	return out
}

// textOf evaluates, and converts.
func textOf(x *expression.Expression, o *observation.Observation) (string, error) {
	v, err := x.Evaluate(context.Background(), o.Scope("db", nil), budget.New(context.Background()))
	if err != nil {
		return "", err
	}
	b, _, err := x.Text(v, budget.New(context.Background()))
	return string(b.Reveal()), err
}

// The law: what has a value waits, and never fails, once something of what it
// reads is not there; and what it waits for holds no data.
func FuzzMissingWaits(f *testing.F) {
	for i := range uint64(200) {
		f.Add(i, uint8(i%4))
	}
	full := fullObservation(f)
	f.Fuzz(func(t *testing.T, seed uint64, depth uint8) {
		w := &writer{Rand: rand.New(rand.NewPCG(seed, 2))}
		text := w.text(int(depth % 5))
		x, faults := env.Compile(expression.Source{Text: text, Path: "here", From: "db", Want: expression.WantText})
		if len(faults) > 0 {
			t.Skip() // too long, or too deep
		}
		if _, err := textOf(x, full); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for i, remove := range removals(full) {
			o := copyOf(full)
			remove(o)
			_, err := textOf(x, o)
			var waiting *expression.Waiting
			if err != nil && !errors.As(err, &waiting) {
				t.Fatalf("%s fails without %d, and does not wait: %v\n%v\n%v", text, i, err, o.Composite, o.Resources)
			}
			if err != nil && (strings.Contains(err.Error(), canary) || len(waiting.Inputs) == 0) {
				t.Fatalf("%s: error holds data, or no input: %v", text, err)
			}
		}
	})
}

// The law: no error holds data, whatever fails on it: not a value, not a key.
func FuzzErrorsHoldNoData(f *testing.F) {
	for i := range uint64(500) {
		f.Add(i, uint8(i%6))
	}
	o := fullObservation(f)
	r := o.Resources["db"]
	r.Object.Proto().Fields["username"] = structpb.NewStringValue("CANARY-field")
	r.Object.Proto().Fields["password"] = structpb.NewStructValue(
		object(f, `{CANARY-key: {CANARY-key: CANARY-value}, name: CANARY-name, db: [CANARY-1, 2]}`).Proto(),
	)
	f.Fuzz(func(t *testing.T, seed uint64, depth uint8) {
		w := &writer{Rand: rand.New(rand.NewPCG(seed, 3))}
		text := w.value(int(depth % 6))
		for _, want := range []expression.Want{
			expression.WantAny, expression.WantText, expression.WantTextMap, expression.WantJSON,
		} {
			x, faults := env.Compile(expression.Source{Text: text, Path: "here", From: "db", Want: want})
			if len(faults) > 0 {
				continue
			}
			v, err := x.Evaluate(context.Background(), o.Scope("db", nil), budget.New(context.Background()))
			errs := []error{err}
			if err == nil {
				_, _, text := x.Text(v, budget.New(context.Background()))
				_, _, textMap := x.TextMap(v, budget.New(context.Background()))
				_, _, labels := x.Labels(v, budget.New(context.Background()))
				_, _, json := x.JSON(v, budget.New(context.Background()))
				errs = []error{text, textMap, labels, json}
			}
			for _, err := range errs {
				if err != nil && strings.Contains(err.Error(), canary) {
					t.Fatalf("%s: error holds data: %v", text, err)
				}
			}
		}
	})
}

// One expression serves many requests at once, and errors of one are not those
// of another: cel-go shares some of its error values. Run it with -race.
func TestExpressionsAreShared(t *testing.T) {
	texts := map[string]string{
		"resource.status.host + resource.spec.name": "<nil>",
		"resource.status.nope":                      "waiting for resources.db.status.nope",
		"string(dyn(resource.status.host) < dyn(resource.spec.port))": "here:1:34: < failed on string and " +
			"int: wrap the string in int(...) or double(...)",
		"resource.spec.port ? 'a' : 'b'":         "here:1:20: the condition of ?: is an int: compare it with something",
		"string(timestamp(9223372036854775807))": "here: failed",
		"string(resource.status.host && true)": "here:1:29: && failed on string and " +
			"bool: it takes true or false: compare the other values with something",
		"resource.status.items.map(i, i.name).join()": "<nil>",
		"dyn(optional.of('a')).orValue('x') + dyn(1).orValue(resource.nope)": "here: failed: or and orValue need " +
			"an optional: write ? before the last field, as in composite.spec.?host.orValue('none')",
		"'x' + dyn(resource.spec.port < 1 ? 1 : 2).orValue(resource.nope)": "here: failed: or and orValue need " +
			"an optional: write ? before the last field, as in composite.spec.?host.orValue('none')",
		"string(resource.spec.name.getFullYear())": "here:1:38: getFullYear failed on string",
		"lists.range(800).map(i, '').join('" + strings.Repeat("a", 3000) + "')": "here: was stopped: it exceeds the " +
			"limit of work for one expression, or for all expressions together",
	}
	o := fullObservation(t)
	var wg sync.WaitGroup
	for text, want := range texts {
		x, faults := env.Compile(expression.Source{Text: text, Path: "here", From: "db"})
		if len(faults) > 0 {
			t.Errorf("%s: %v", text, faults)
			continue
		}
		for range 8 {
			wg.Go(func() { // none before the others: the first may write what is shared
				for range 20 {
					if _, err := textOf(x, o); fmt.Sprint(err) != want {
						t.Errorf("%s: want %s, got %v", text, want, err)
					}
				}
			})
		}
	}
	wg.Wait()
}
