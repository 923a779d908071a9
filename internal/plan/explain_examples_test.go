package plan

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// exampleObjects are the objects in a file of an example, which need not be there.
func exampleObjects(t *testing.T, file string) []*structpb.Struct {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var out []*structpb.Struct
	for _, doc := range strings.Split("\n"+string(b), "\n---") {
		j, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		s := &structpb.Struct{}
		if string(j) == "null" {
			continue
		}
		if err := protojson.Unmarshal(j, s); err != nil {
			t.Fatal(err)
		}
		if data := s.GetFields()["stringData"].GetStructValue(); data != nil {
			for k, v := range data.GetFields() {
				data.GetFields()[k] = structpb.NewStringValue(base64.StdEncoding.EncodeToString([]byte(v.GetStringValue())))
			}
			s.Fields["data"] = structpb.NewStructValue(data)
		}
		out = append(out, s)
	}
	return out
}

// An exampleWorld is an example: its plans, and what they observe.
type exampleWorld struct {
	plans   []*Plan
	req     Request
	cluster []wire.Struct
}

func loadExample(t *testing.T, env *expression.Environment, dir string) exampleWorld {
	t.Helper()
	compositions := exampleObjects(t, filepath.Join(dir, "composition.yaml"))
	w := exampleWorld{}
	for _, c := range append(exampleObjects(t, filepath.Join(dir, "required.yaml")), exampleObjects(t, filepath.Join(dir, "observed.yaml"))...) {
		w.cluster = append(w.cluster, wire.Of(c))
	}
	for _, step := range compositions[0].GetFields()["spec"].GetStructValue().GetFields()["pipeline"].GetListValue().GetValues() {
		input := step.GetStructValue().GetFields()["input"].GetStructValue()
		if input.GetFields()["kind"].GetStringValue() != "Exports" {
			continue
		}
		p, faults := Compile(context.Background(), env, input)
		if len(faults) > 0 {
			t.Fatalf("%s: %v", dir, faults)
		}
		w.plans = append(w.plans, p)
	}
	details := func(o wire.Struct) observation.Details {
		name := o.At("spec", "writeConnectionSecretToRef", "name").Text()
		for _, c := range w.cluster {
			if _, kind, _, n := object.Identity(c); kind == "Secret" && n == name {
				out := observation.Details{}
				data, _ := object.DataOf(c)
				for k, v := range data {
					out[k] = v.Reveal()
				}
				return out
			}
		}
		return nil
	}
	o := &w.req.Observation
	o.Composite.Object = wire.Of(exampleObjects(t, filepath.Join(dir, "xr.yaml"))[0])
	o.Composite.Details = details(o.Composite.Object)
	o.Resources = map[string]observation.Resource{}
	for _, c := range w.cluster {
		if name := object.CompositionResourceName(c); name != "" {
			o.Resources[name] = observation.Resource{Object: c, Details: details(c)}
		}
	}
	for _, e := range exampleObjects(t, filepath.Join(dir, "environment.yaml")) {
		o.Environment = wire.Of(e)
	}
	w.req.Now, w.req.Random = time.Now(), rand.NewChaCha8([32]byte{})
	return w
}

// runOf is a run before it exports anything.
func (w exampleWorld) runOf(t *testing.T, p *Plan) *run {
	t.Helper()
	req := w.req
	req.Found = map[string][]wire.Struct{}
	for range 5 { // as often as Crossplane asks
		out, err := p.Run(context.Background(), &req)
		if err != nil {
			return nil // an input's mistake that is the example's point
		}
		for _, r := range out.Requirements {
			req.Found[r.Key()] = nil
			for _, o := range w.cluster {
				if r.matches(o) {
					req.Found[r.Key()] = append(req.Found[r.Key()], o)
				}
			}
		}
	}
	r := &run{Request: &req, budget: budget.New(context.Background()), missing: map[string]string{}, exports: map[string]bool{}, dataLeft: math.MaxInt, read: map[string]*findings{}, keysLeft: math.MaxInt}
	r.theirs, req.Observation.Resources = splitTheirs(req.Observation.Resources)
	r.splitGenerations(p)
	r.namespace, r.cluster = ownNamespace(req.Observation.Composite.Object)
	r.variables = newVariables(context.Background(), p.variables, r)
	out := &Result{}
	r.findEnvironment(p, out)
	req.Observation.Sources = r.readSources(context.Background(), p.sources, out)
	at := make([]placement, len(p.exports))
	for i, e := range p.exports {
		at[i] = r.place(context.Background(), e)
	}
	r.findWriters(p.exports, at)
	r.setEnvironment(context.Background(), p, out)
	r.generate(context.Background(), p, at, out)
	return r
}

// expressionsOf a plan, but those over a generation.
func expressionsOf(p *Plan) []*expression.Expression {
	var out []*expression.Expression
	for _, v := range p.variables {
		out = append(out, v.value)
	}
	for _, f := range p.set {
		out = append(out, f.value)
	}
	for _, s := range p.sources {
		out = append(out, s.nameExpr)
	}
	for _, m := range p.makers {
		out = append(out, m.keepers, m.secret)
	}
	for _, e := range p.exports {
		out = append(out, e.metadata.nameExpr, e.metadata.namespaceExpr, e.metadata.labelsExpression, e.metadata.annotationsExpression)
		for _, b := range e.dataFrom {
			out = append(out, b.value)
		}
		for _, d := range e.data {
			out = append(out, d.value)
		}
	}
	for _, s := range p.status {
		out = append(out, s.value)
	}
	return slices.DeleteFunc(out, func(x *expression.Expression) bool { return x == nil })
}

// The law: over all examples the estimate of an expression is within a factor of ten of
// what it takes with the data of the example.
func TestEstimatesOfExamples(t *testing.T) {
	env, err := expression.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	compositions, err := filepath.Glob("../../example/*/composition.yaml")
	if err != nil || len(compositions) < 20 {
		t.Fatalf("want at least 20 examples, got %d: %v", len(compositions), err)
	}
	const floor = 10 // of 250,000, which nobody counts
	var ratios []float64
	waiting := 0
	for _, file := range compositions {
		w := loadExample(t, env, filepath.Dir(file))
		for _, p := range w.plans {
			r := w.runOf(t, p)
			if r == nil {
				continue
			}
			for _, x := range expressionsOf(p) {
				b := budget.New(context.Background())
				if _, err := x.Evaluate(context.Background(), r.Observation.Scope(x.Source().From, r.variables.Val), b); err != nil {
					waiting++
					continue
				}
				used, e := limits.RequestFuel-b.Left(), x.Estimate()
				ratio := float64(max(e.Expected, floor)) / float64(max(used, floor))
				ratios = append(ratios, ratio)
				if ratio > 10 || ratio < 0.1 {
					t.Errorf("%s: %s: estimated %d (%d of it %s at %s), used %d", file, x.Source().Path, e.Expected, e.Share, e.Call, e.Place, used)
				}
				if testing.Verbose() && max(used, e.Expected) > floor {
					t.Logf("%5.2f: %5d for %5d: %s: %.70s", ratio, e.Expected, used, filepath.Base(filepath.Dir(file)), x.Source().Text)
				}
			}
		}
	}
	slices.Sort(ratios)
	if len(ratios) < 100 {
		t.Fatalf("want at least 100 expressions that end, got %d", len(ratios))
	}
	t.Logf("%d expressions, and %d that wait: estimate by use is %.2f at least, %.2f, %.2f and %.2f at the quartiles, %.2f at most",
		len(ratios), waiting, ratios[0], ratios[len(ratios)/4], ratios[len(ratios)/2], ratios[len(ratios)*3/4], ratios[len(ratios)-1])
}

// The law: what an expression waits for while nothing is observed but the composite is
// among the inputs that its explanation says it waits for.
func TestExplainedInputsAreWaitedFor(t *testing.T) {
	env, err := expression.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("../../example/*/composition.yaml")
	checked := 0
	for _, file := range files {
		w := loadExample(t, env, filepath.Dir(file))
		w.req.Observation.Resources, w.cluster = nil, nil
		for _, p := range w.plans {
			r := w.runOf(t, p)
			if r == nil {
				continue
			}
			keys := explainedKeys(p.Explain(nil))
			for _, x := range expressionsOf(p) {
				_, err := x.Evaluate(context.Background(), r.Observation.Scope(x.Source().From, r.variables.Val), budget.New(context.Background()))
				var waiting *expression.Waiting
				k, ok := keys[x.Source().Path]
				if !errors.As(err, &waiting) || !ok {
					continue
				}
				for _, in := range waiting.Inputs {
					checked++
					if in, _, _ = strings.Cut(in, " ("); !explains(k, in) {
						t.Errorf("%s: %s waits for %s, which is not explained: %+v", file, k.Path, in, k.Inputs)
					}
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("want at least 50 inputs that are waited for, got %d", checked)
	}
}

func explainedKeys(ex *Explanation) map[string]ExplainedKey {
	out := map[string]ExplainedKey{}
	all := slices.Concat(ex.Variables, ex.Environment, ex.Status)
	for _, o := range ex.Objects {
		all = slices.Concat(all, o.Metadata, o.Keys)
	}
	for _, k := range all {
		out[k.Path] = k
	}
	return out
}

// explains reports whether a key is explained to wait for an input, or for something below
// it or above it.
func explains(k ExplainedKey, input string) bool {
	return slices.ContainsFunc(k.Inputs, func(in Input) bool {
		known := strings.Replace(in.Name, expression.Secrets+".", expression.Resources+".", 1) // while there is no such resource
		waited := strings.Replace(input, expression.Secrets+".", expression.Resources+".", 1)
		return in.Need != expression.Optional && (strings.HasPrefix(known, waited) || strings.HasPrefix(waited, known))
	})
}

// An explanation of an example can be written as JSON, holds no value of a connection
// detail that the example observes, and is the same after a run.
func TestExplanationsHoldNoData(t *testing.T) {
	env, err := expression.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("../../example/*/composition.yaml")
	for _, file := range files {
		w := loadExample(t, env, filepath.Dir(file))
		for _, p := range w.plans {
			before, err := json.Marshal(p.Explain(nil))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for name, r := range w.req.Observation.Resources {
				for key, value := range r.Details {
					if len(value) >= 8 && strings.Contains(string(before), string(value)) {
						t.Errorf("%s: the value of %s.%s is in the explanation", file, name, key)
					}
				}
			}
			w.runOf(t, p)
			after, err := json.Marshal(p.Explain(nil))
			if err != nil || string(before) != string(after) {
				t.Errorf("%s: a run changes the explanation: %v", file, err)
			}
		}
	}
}
