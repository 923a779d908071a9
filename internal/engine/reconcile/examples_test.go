package reconcile

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
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

	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
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

// An exampleScene is an example: its plans, and what they observe.
type exampleScene struct {
	plans   []*plan.Plan
	req     Request
	cluster []wire.Struct
}

func loadExample(t *testing.T, env *expression.Environment, dir string) exampleScene {
	t.Helper()
	compositions := exampleObjects(t, filepath.Join(dir, "composition.yaml"))
	w := exampleScene{}
	for _, c := range append(exampleObjects(t, filepath.Join(dir, "required.yaml")), exampleObjects(t, filepath.Join(dir, "observed.yaml"))...) {
		w.cluster = append(w.cluster, wire.Of(c))
	}
	for _, step := range compositions[0].GetFields()["spec"].GetStructValue().GetFields()["pipeline"].GetListValue().GetValues() {
		input := step.GetStructValue().GetFields()["input"].GetStructValue()
		if input.GetFields()["kind"].GetStringValue() != "Exports" {
			continue
		}
		p, faults := plan.Compile(context.Background(), env, input)
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

// sessionOf is the session of exports, or nil for an input with a mistake that is the example's point.
func (w exampleScene) sessionOf(t *testing.T, p *plan.Plan) *session {
	t.Helper()
	in := w.req
	in.Found = map[string][]wire.Struct{}
	for range 5 { // as often as Crossplane asks
		out, err := Run(context.Background(), p, &in)
		if err != nil {
			return nil
		}
		for _, r := range out.Requirements {
			in.Found[r.Key()] = nil
			for _, o := range w.cluster {
				if r.matches(o) {
					in.Found[r.Key()] = append(in.Found[r.Key()], o)
				}
			}
		}
	}
	req := &request{Request: &in, answers: map[string]*answer{}}
	xr := compositeOf(in.Observation.Composite.Object)
	composed := split(p, req, xr)
	in.Observation.Resources = composed.resources
	s := newSession(context.Background(), p, req, xr, &in.Observation)
	merged, _ := readEnvironment(s, p, req)
	sources := readSources(merged.session, p, req)
	items := expandGenerators(sources.session, p, composed)
	placed := placeExports(sources.session, items.plan, req, expand(sources.session, items.plan, req), nil)
	set := setEnvironment(sources.session, p, merged)
	generated, _ := generate(set.session, items, req, composed, placed, nil)
	return generated.session
}

// expressionsOf a plan, but those over a generation.
func expressionsOf(p *plan.Plan) []*expression.Expression {
	var out []*expression.Expression
	for _, v := range p.Variables {
		out = append(out, v.Value)
	}
	for _, f := range p.Set {
		out = append(out, f.Value)
	}
	for _, s := range p.Sources {
		out = append(out, s.NameExpr)
	}
	for _, m := range p.Generators {
		out = append(out, m.Keepers)
	}
	for _, e := range p.Exports {
		out = append(out, e.Metadata.NameExpr, e.Metadata.NamespaceExpr, e.Metadata.LabelsExpression, e.Metadata.AnnotationsExpression)
		for _, b := range e.DataFrom {
			out = append(out, b.Value)
		}
		for _, d := range e.Data {
			out = append(out, d.Value)
		}
	}
	for _, s := range p.Status {
		out = append(out, s.Value)
	}
	return slices.DeleteFunc(out, func(x *expression.Expression) bool { return x == nil })
}

// The law: no expression of an example takes more than twice its estimate, with the data
// of the example. Estimates below 50 are for texts of 32 characters, and a certificate is longer.
func TestCostsOfExamples(t *testing.T) {
	env, err := advice.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	compositions, err := filepath.Glob("../../../example/*/composition.yaml")
	if err != nil || len(compositions) < 20 {
		t.Fatalf("want at least 20 examples, got %d: %v", len(compositions), err)
	}
	ended := 0
	for _, file := range compositions {
		w := loadExample(t, env, filepath.Dir(file))
		for _, p := range w.plans {
			r := w.sessionOf(t, p)
			if r == nil {
				continue
			}
			for _, x := range expressionsOf(p) {
				b := budget.New(context.Background())
				if _, err := x.Evaluate(context.Background(), r.scope(x.Source().From), b); err != nil {
					continue
				}
				ended++
				if used, c := limits.RequestFuel-b.Left(), x.Cost(); used > 2*max(c.Max, 50) || c.Max > c.Limit {
					t.Errorf("%s: %s: estimated %d, used %d", file, x.Source().Path, c.Max, used)
				}
			}
		}
	}
	if ended < 100 {
		t.Fatalf("want at least 100 expressions that end, got %d", ended)
	}
}

// The law: what an expression waits for while nothing is observed but the composite is
// among the inputs that its explanation says it waits for.
func TestExplainedInputsAreWaitedFor(t *testing.T) {
	env, err := advice.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("../../../example/*/composition.yaml")
	checked := 0
	for _, file := range files {
		w := loadExample(t, env, filepath.Dir(file))
		w.req.Observation.Resources, w.cluster = nil, nil
		for _, p := range w.plans {
			r := w.sessionOf(t, p)
			if r == nil {
				continue
			}
			keys := explainedKeys(inspect.Explain(p, nil))
			for _, x := range expressionsOf(p) {
				_, err := x.Evaluate(context.Background(), r.scope(x.Source().From), budget.New(context.Background()))
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

func explainedKeys(ex *inspect.Explanation) map[string]inspect.ExplainedKey {
	out := map[string]inspect.ExplainedKey{}
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
func explains(k inspect.ExplainedKey, input string) bool {
	return slices.ContainsFunc(k.Inputs, func(in inspect.Input) bool {
		known := strings.Replace(in.Name, expression.Secrets+".", expression.Resources+".", 1) // while there is no such resource
		waited := strings.Replace(input, expression.Secrets+".", expression.Resources+".", 1)
		return in.Need != expression.Optional && (strings.HasPrefix(known, waited) || strings.HasPrefix(waited, known))
	})
}

// An explanation of an example can be written as JSON, holds no value of a connection
// detail that the example observes, and is the same after a run.
func TestExplanationsHoldNoData(t *testing.T) {
	env, err := advice.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("../../../example/*/composition.yaml")
	for _, file := range files {
		w := loadExample(t, env, filepath.Dir(file))
		for _, p := range w.plans {
			before, err := json.Marshal(inspect.Explain(p, nil))
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
			w.sessionOf(t, p)
			after, err := json.Marshal(inspect.Explain(p, nil))
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("%s: a run changes the explanation: %v", file, err)
			}
		}
	}
}
