package observation_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

var env = func() *expression.Environment {
	e, err := advice.NewEnvironment()
	if err != nil {
		panic(err)
	}
	return e
}()

// stock is an activation of cel-go's own values.
type stock map[string]any

func (s stock) Parent() cel.Activation { return nil }

func (s stock) ResolveName(name string) (any, bool) {
	v, ok := s[name]
	return v, ok
}

// native is a Value as cel-go's own adapter takes it, whole numbers as ints.
func native(v *structpb.Value) any {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return k.StringValue
	case *structpb.Value_BoolValue:
		return k.BoolValue
	case *structpb.Value_NumberValue:
		if k.NumberValue == math.Trunc(k.NumberValue) {
			return int64(k.NumberValue)
		}
		return k.NumberValue
	case *structpb.Value_ListValue:
		out := []any{}
		for _, e := range k.ListValue.GetValues() {
			out = append(out, native(e))
		}
		return out
	case *structpb.Value_StructValue:
		return nativeMap(k.StructValue)
	}
	return nil
}

func nativeMap(s *structpb.Struct) map[string]any {
	out := map[string]any{}
	for k, e := range s.GetFields() {
		out[k] = native(e)
	}
	return out
}

// show prints a value, whatever made it.
func show(v ref.Val) string {
	switch t := v.(type) {
	case *types.Optional:
		if !t.HasValue() {
			return "none"
		}
		return "optional(" + show(t.GetValue()) + ")"
	case traits.Mapper:
		var out []string
		for it := t.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			e, _ := t.Find(k)
			out = append(out, show(k)+":"+show(e))
		}
		sort.Strings(out)
		return fmt.Sprint("map", out)
	case traits.Lister:
		var out []string
		for i := range t.Size().(types.Int) {
			out = append(out, show(t.Get(i)))
		}
		return fmt.Sprint("list", out)
	case *types.Type:
		return t.TypeName()
	}
	return fmt.Sprintf("%T(%v)", v, v.Value())
}

func result(x *expression.Expression, vars cel.Activation) string {
	v, err := x.Evaluate(context.Background(), vars, budget.New(context.Background()))
	if err != nil {
		return fmt.Sprintf("%T: %v", err, err)
	}
	return show(v)
}

var names = []string{"a", "b", "c", "d", "e", "data"}

// randomValue is any Value that protobuf can hold, the odd ones included.
func randomValue(r *rand.Rand, depth int) *structpb.Value {
	n := 16
	if depth == 0 {
		n = 12
	}
	switch r.IntN(n) {
	case 0:
		return nil
	case 1:
		return &structpb.Value{}
	case 2:
		return structpb.NewNullValue()
	case 3:
		return &structpb.Value{Kind: &structpb.Value_StructValue{}}
	case 4:
		return &structpb.Value{Kind: &structpb.Value_ListValue{}}
	case 5:
		return structpb.NewBoolValue(r.IntN(2) == 0)
	case 6, 7:
		return structpb.NewStringValue([]string{"", "a", "b", "x y", "1", "\xff"}[r.IntN(6)])
	case 8, 9, 10:
		return structpb.NewNumberValue(
			[]float64{0, math.Copysign(0, -1), 1, 2, -1, 0.5, 1e6, 1 << 53, -(1 << 53), 1<<53 - 1, math.NaN(),
				1e-300}[r.IntN(12)],
		)
	case 12, 13:
		l := &structpb.ListValue{}
		for range r.IntN(4) {
			l.Values = append(l.Values, randomValue(r, depth-1))
		}
		return structpb.NewListValue(l)
	}
	return structpb.NewStructValue(randomStruct(r, max(depth-1, 0)))
}

func randomStruct(r *rand.Rand, depth int) *structpb.Struct {
	s := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, k := range names {
		if r.IntN(3) > 0 {
			s.Fields[k] = randomValue(r, depth)
		}
	}
	return s
}

// settled is what bytes can hold of a random Struct, which is not changed: a Value
// without a kind is null, and all text is UTF-8.
func settled(s *structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for k, v := range s.GetFields() {
		out.Fields[k] = settledValue(v)
	}
	return out
}

func settledValue(v *structpb.Value) *structpb.Value {
	switch k := v.GetKind().(type) {
	case nil:
		return structpb.NewNullValue()
	case *structpb.Value_StringValue:
		return structpb.NewStringValue(strings.ToValidUTF8(k.StringValue, "ä"))
	case *structpb.Value_ListValue:
		l := &structpb.ListValue{}
		for _, e := range k.ListValue.GetValues() {
			l.Values = append(l.Values, settledValue(e))
		}
		return structpb.NewListValue(l)
	case *structpb.Value_StructValue:
		return structpb.NewStructValue(settled(k.StructValue))
	}
	return v
}

// forms of expressions: each $ is a path.
var forms = strings.Split(
	`$ ; has($) ; 'a' in $ ; $ in $ ; size($) ; $ == $ ; $ != $ ; [$] == [$] ; {'a': $} == {'a': $} ; [$, $] ;
{'k': $} ; $[0] ; $['a'] ; $[?0] ; $[?'a'] ; $[$] ; $[?$] ; $.?a ; $.?a.?b ; $.?a.orValue($) ; optional.of($).?a ;
optional.ofNonZeroValue($) ; $.map(x, x) ; $.map(x, [x]) ; $.filter(x, x == $) ; $.exists(x, x == $) ;
$.all(x, x != $) ; $.exists_one(x, x == 'a') ; $.map(x, x != null, x) ; $.transformList(k, v, [k, v]) ;
$.transformMap(k, v, v) ; $.transformMap(k, v, v != null, k) ; $.exists(k, v, v == $) ; $.all(k, v, k == v) ;
json.encode($) ; yaml.encode($) ; '%s'.format([$]) ; '%d'.format([$]) ; string($) ; type($) ; int($) ; double($) ;
dyn($) ; bool($) ; $ + $ ; $ - $ ; $ * 2 ; $ / $ ; $ % 2 ; -$ ; !$ ; $ < $ ; $ >= 1 ; $ == 1 ; $ == 1.0 ; $ == 1u ;
$ == null ; $ == '' ; $ == [] ; $ == {} ; [] == $ ; {} == $ ; null == $ ; $.size() ; $.contains('a') ;
$.startsWith('a') ; $.split('') ; $.join(',') ; $.distinct() ; $.sort() ; $.flatten() ; $.reverse() ;
$.slice(0, 1) ; $.first() ; $.last() ; $.sortBy(x, x) ; sets.contains($, $) ; sets.equivalent($, $) ;
sets.intersects([$], $) ; $ in [$, $] ; [1, 2] + $ ; $ + ['a'] ; math.greatest($) ; math.abs($) ; lists.range($) ;
$ ? 1 : 2 ; $ || true ; $ && false ; cel.bind(x, $, x == x) ; optional.of($) == optional.of($) ;
[?optional.of($).?a] ; {?'x': optional.of($).?a} ; $.map(x, $.map(y, x == y)) ; [$, $].distinct() ;
[[$]].flatten() ; {'a': $}.transformMapEntry(k, v, {k: v}) ; $.transformMapEntry(k, v, {string(v): k})`,
	";",
)

func randomExpression(r *rand.Rand) string {
	form := strings.TrimSpace(forms[r.IntN(len(forms))])
	for strings.Contains(form, "$") {
		path := "composite"
		for range r.IntN(4) {
			path += "." + names[r.IntN(len(names))]
		}
		if strings.HasPrefix(form, "has(") && path == "composite" {
			path += ".a"
		}
		form = strings.Replace(form, "$", path, 1)
	}
	return form
}

// The law: values of an observation are what cel-go's own would be, but for
// whole numbers, which are ints. They read the Struct, and never write to it.
func FuzzValuesAgreeWithCEL(f *testing.F) {
	for i := range uint64(1000) {
		f.Add(i)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := randomStruct(r, 3)
		plain := settled(s)
		before, plainBefore, bytes := proto.Clone(s), proto.Clone(plain), sent(t, plain)
		observe := func(s wire.Struct) cel.Activation {
			return (&observation.Observation{Composite: observation.Resource{Object: s}}).Scope("", nil)
		}
		sides := map[string]struct{ theirs, ours cel.Activation }{
			"as it is":   {stock{"composite": nativeMap(s)}, observe(wire.Of(s))},
			"from bytes": {stock{"composite": nativeMap(plain)}, observe(bytes)},
		}
		for range 10 {
			text := randomExpression(r)
			x, faults := env.Compile(expression.Source{Text: text, Path: "here"})
			if len(faults) > 0 {
				continue
			}
			for as, side := range sides {
				want, got := result(x, side.theirs), result(x, side.ours)
				if want != got {
					t.Fatalf("%s over %v %s\ncel-go's values: %s\n         ours: %s", text, s, as, want, got)
				}
			}
		}
		if !proto.Equal(before, s) || !proto.Equal(plainBefore, bytes.Proto()) {
			t.Fatal("the Struct was written to")
		}
	})
}

// A number that a double cannot represent exactly is refused when it is used, and only then.
func TestNumbers(t *testing.T) {
	in := &structpb.Struct{Fields: map[string]*structpb.Value{
		"big":   structpb.NewNumberValue(1<<53 + 2),
		"exact": structpb.NewNumberValue(1 << 53),
		"zero":  structpb.NewNumberValue(math.Copysign(0, -1)),
		"inf":   structpb.NewNumberValue(math.Inf(-1)),
		"list": structpb.NewListValue(
			&structpb.ListValue{
				Values: []*structpb.Value{structpb.NewNumberValue(1 << 60), structpb.NewNumberValue(1)},
			},
		),
		"map": structpb.NewStructValue(
			&structpb.Struct{Fields: map[string]*structpb.Value{"n": structpb.NewNumberValue(1 << 60)}},
		),
	}}
	const rounded = "*expression.Failed: reads a whole number over 2^53"
	cases := map[string]struct{ reason, text, want string }{
		"Big":         {"it may be another number", "composite.big", rounded},
		"BigPrinted":  {"", "string(composite.big)", rounded},
		"BigCompared": {"", "composite.big == composite.big", rounded},
		"BigBelow":    {"", "composite.map == composite.map", rounded},
		"BigUnequal":  {"what differs for sure differs", "composite.list == [1, 2]", "types.Bool(false)"},
		"BigIn":       {"what is found for sure is found", "1 in composite.list", "types.Bool(true)"},
		"BigNotIn":    {"", "3 in composite.list", rounded},
		"BigSize":     {"", "composite.list.size()", "types.Int(2)"},
		"BigElement":  {"", "composite.list.map(x, x)", rounded},
		"BigEncoded":  {"", "json.encode(composite.map)", rounded},
		"Exact":       {"", "composite.exact + 1", "types.Int(9007199254740993)"},
		"MinusZero":   {"", "string(composite.zero)", "types.String(0)"},
		"Infinity":    {"only protobuf has it", "composite.inf", "types.Double(-Inf)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x, faults := env.Compile(expression.Source{Text: tc.text, Path: "here"})
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			o := &observation.Observation{Composite: observation.Resource{Object: sent(t, in)}}
			got := strings.Replace(result(x, o.Scope("", nil)), ": here: ", ": ", 1)
			if i := strings.Index(got, ": here:"); i >= 0 {
				got = got[:i+2] + got[strings.Index(got, "reads"):]
			}
			if !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s\n%s: want %s, got %s", tc.reason, tc.text, tc.want, got)
			}
		})
	}
}

// A v1 Secret shows everything but its data and the copy that kubectl apply
// keeps of it, however it is read, and is not written to.
func TestSecretIsHidden(t *testing.T) {
	secret := func() *structpb.Struct {
		s, err := structpb.NewStruct(map[string]any{
			"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"k": "canary"}, "stringData": map[string]any{
				"k": "canary"},
			"metadata": map[string]any{
				"name": "s",
				"annotations": map[string]any{
					"keep": "me",
					"kubectl.kubernetes.io/last-applied-configuration": "canary",
				},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const hidden = "*expression.Failed: here: reads the data of a v1 Secret, which is hidden here"
	cases := map[string]struct{ reason, text, want string }{
		"Data":       {"who reads it is told, and does not wait", "composite.data", hidden},
		"DataKey":    {"", "composite.data.k", hidden},
		"StringData": {"", "composite['stringData']", hidden},
		"Optional":   {"", "composite.?data.?k.orValue('none')", hidden},
		"Has":        {"", "'data' in composite", "types.Bool(false)"},
		"Size":       {"", "composite.size()", "types.Int(3)"},
		"Keys":       {"", "composite.map(k, k)", "list[types.String(apiVersion) types.String(kind) types.String(metadata)]"},
		"Values": {"", "json.encode(composite.transformList(k, v, " +
			"v))", `types.String(["v1","Secret",{"annotations":{"keep":"me"},"name":"s"}])`},
		"Encoded": {
			"",
			"json.encode(composite)",
			`types.String({"apiVersion":"v1","kind":"Secret","metadata":{"annotations":{"keep":"me"},"name":"s"}})`,
		},
		"Printed": {"", "'%s'.format([composite])", "types.String({apiVersion: v1, kind: Secret, metadata: " +
			"{annotations: {keep: me}, name: s}})"},
		"Annotation": {"", "composite.metadata.annotations.map(k, k)", "list[types.String(keep)]"},
		"LastApplied": {
			"who reads that is told, too",
			"composite.metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']",
			"*expression.Failed: here: reads an annotation that holds a copy of an object, which is hidden",
		},
		"HasApplied": {"", "'kubectl.kubernetes.io/last-applied-configuration' in " +
			"composite.metadata.annotations", "types.Bool(false)"},
		"Annotations": {"", "composite.metadata.annotations.size()", "types.Int(1)"},
		"Equal":       {"", "composite == composite", "types.Bool(true)"},
		"EqualKeys": {"", "composite == {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 's', " +
			"'annotations': {'keep': 'me'}}}", "types.Bool(true)"},
		"EqualFrom": {"", "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 's', 'annotations': " +
			"{'keep': 'me'}}} == composite", "types.Bool(true)"},
	}
	o := &observation.Observation{Composite: observation.Resource{Object: sent(t, secret())}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x, faults := env.Compile(expression.Source{Text: tc.text, Path: "here"})
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			got := result(x, o.Scope("", nil))
			if strings.HasPrefix(got, "*expression.Failed: here:1") {
				got = "*expression.Failed: here" + got[strings.Index(got, ": reads"):]
			}
			if !strings.HasPrefix(got, tc.want) || strings.Contains(got, "canary") {
				t.Errorf("%s\n%s: want %s, got %s", tc.reason, tc.text, tc.want, got)
			}
		})
	}
	if !proto.Equal(o.Composite.Object.Proto(), secret()) {
		t.Error("the Struct was written to")
	}
}

// sent returns an object as it is read from the bytes of a request.
func sent(t testing.TB, s *structpb.Struct) wire.Struct {
	t.Helper()
	req, err := wire.Encode(&fnv1.RunFunctionRequest{Input: s})
	if err != nil {
		t.Fatal(err)
	}
	return req.Input
}
