package function_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// unordered are values that would change if the entries of a map had no order.
var unordered = []string{
	"composite.spec.many.map(k, k).join(',')", "json.encode(composite.spec.many)", "yaml.encode(composite.spec.many)",
	"composite.spec.many.transformList(k, v, k + string(v)).join(',')", "composite.spec.many.merge({'z': 1, 'y': 2}).map(k, k).join(',')",
	"{'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6}.map(k, k).join(',')", "secrets.map(n, secrets[n].map(k, k).join(',')).join(';')",
	"json.encode(composite.spec.many.transformMapEntry(k, v, {k + 'x': v}))", "string(composite.spec.many.exists(k, k == 'c'))",
}

// vocabulary returns the examples of all functions, and the Secret that they read.
func vocabulary(t *testing.T) (examples []string, secret map[string]string) {
	t.Helper()
	b, err := os.ReadFile("../../desk/vocabulary/vocabulary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Secret map[string]string
		Groups []struct{ Entries []struct{ Example string } }
	}
	if err := yaml.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	for _, g := range v.Groups {
		for _, e := range g.Entries {
			examples = append(examples, strings.ReplaceAll(e.Example, "secret.", "secrets.login."))
		}
	}
	return examples, v.Secret
}

// asText returns an expression whose result is the text of the result of another one.
func asText(t *testing.T, env *expression.Environment, text string) string {
	t.Helper()
	checked, iss := env.CEL().Compile(text)
	if iss.Err() != nil {
		t.Fatal(iss.Err())
	}
	switch checked.OutputType().Kind() { //nolint:exhaustive // all others are JSON, also an optional without a value
	case cel.StringKind:
		return text
	case cel.BytesKind, cel.TimestampKind, cel.DurationKind, cel.UintKind, cel.DoubleKind:
		return "string(" + text + ")"
	}
	return "json.encode([" + text + "])"
}

// All functions return the same result for the same input: 50 reconciles write the same bytes. The order of maps is
// another one in each call, and every second call is the first one of a new function.
func TestFunctionsAreStable(t *testing.T) {
	examples, secret := vocabulary(t)
	env, err := advice.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	var input strings.Builder
	input.WriteString("sources: [{name: login, apiVersion: v1, kind: Secret}]\nsecrets:\n- name: a\n  data:\n")
	all := slices.Concat(examples, unordered)
	for i, text := range all {
		fmt.Fprintf(&input, "  - {key: k-%d, value: %q}\n", i, asText(t, env, text))
	}
	c := withLogin(t, input.String())
	c.Stored["v1|Secret|team-a|login"] = login(t, secret)
	many := map[string]any{}
	for _, k := range "qwertyuiopasdfghjkl" {
		many[string(k)] = int(k)
	}
	value, err := structpb.NewValue(many)
	if err != nil {
		t.Fatal(err)
	}
	c.XR.Fields["spec"].GetStructValue().Fields["many"] = value
	c.Settle()
	first := c.Response
	if got := len(c.Object("Secret", "shop-a").GetFields()["data"].GetStructValue().GetFields()); got != len(all) || len(first.GetResults()) > 0 {
		t.Fatalf("want %d keys, got %d, %v, %s", len(all), got, first.GetResults(), c.Condition())
	}
	stored := maps.Clone(c.Stored)
	for i := range proof.Count("SIM_HISTORIES", 10, 50) {
		if i%2 == 0 {
			c.Fn = functiontest.New(t)
			c.Fn.Now = func() time.Time { return c.Now }
		}
		rsp := c.Reconcile()
		if !bytes.Equal(bytesOf(t, rsp.GetDesired()), bytesOf(t, first.GetDesired())) || len(rsp.GetResults()) > 0 {
			t.Fatalf("reconcile %d: the desired state changed from\n%v to\n%v, %v", i, first.GetDesired(), rsp.GetDesired(), rsp.GetResults())
		}
	}
	if !maps.EqualFunc(stored, c.Stored, func(a, b *structpb.Struct) bool { return proto.Equal(a, b) }) {
		t.Errorf("the stored objects changed from\n%v to\n%v", stored, c.Stored)
	}
}

// login returns a Secret with some data.
func login(t *testing.T, data map[string]string) *structpb.Struct {
	t.Helper()
	encoded := map[string][]byte{}
	for k, v := range data {
		encoded[k] = []byte(v)
	}
	b, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "login", "namespace": "team-a"}, "data": encoded,
	})
	if err != nil {
		t.Fatal(err)
	}
	return functiontest.Parse(t, string(b))
}

func bytesOf(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
