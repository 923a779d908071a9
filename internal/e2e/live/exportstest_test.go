package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	simulation "github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// A played is a test that the control plane plays, in seconds.
type played struct {
	*exportstest.ExportsTest
	scenario

	setup    *exportstest.Setup
	runner   *exportstest.Runner
	xr       live.Ref
	readings []exportstest.Reading
}

// TestExportsTest plays a test of the command test in the simulation and in the control plane, with a real clock. Both
// pass. With a grace period that is too short, both fail in the same moment, for the same expectation.
func TestExportsTest(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("testdata/rotation.yaml")
	if err != nil {
		t.Fatal(err)
	}

	short := strings.NewReplacer("Rotated", "Hasty", "rotated", "hasty", "gracePeriod: 30s",
		"gracePeriod: 4s").Replace(string(text))

	for name, tc := range map[string]struct{ text, want string }{
		"Passes":           {string(text), ""},
		"ShortGracePeriod": {short, "spec.tests[0].moments[2].expect.kept[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p := play(t, tc.text)

			simulated, err := p.runner.Run(t.Context(), p.ExportsTest, 0, p.setup)
			p.must(err)

			if got := fieldsOf(simulated.Failures); !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
				t.Fatalf("simulated: want %q, got %v", tc.want, simulated.Failures)
			}

			failures := p.inControlPlane()
			if got := fieldsOf(failures); !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("in the control plane: want %q, got %v\n%s", tc.want, failures, events(p.ns))
			}
		})
	}
}

func fieldsOf(failures []exportstest.Failure) string {
	fields := make([]string, len(failures))
	for i, f := range failures {
		fields[i] = f.Field
	}

	return strings.Join(fields, " ")
}

// play reads the test.
func play(t *testing.T, text string) *played {
	t.Helper()

	var value map[string]any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}

	in, wrong := exportstest.Read(value)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}

	simulated, err := pipeline.NewEngine()
	if err != nil {
		t.Fatal(err)
	}

	read, err := composition.Read(in.Spec.Inputs.Composition.(map[string]any))
	if err != nil {
		t.Fatal(err)
	}

	composed := pipeline.New(read)

	xr := &unstructured.Unstructured{Object: in.Spec.Inputs.XR.(map[string]any)}
	setup := &exportstest.Setup{Setup: &pipeline.Setup{XR: structOf(t, xr.Object), Pipeline: composed}}
	simulation.Set(setup.XR, "11111111-1111-1111-1111-111111111111", "metadata", "uid")

	return &played{
		ExportsTest: in, scenario: newScenario(t, xr.GetNamespace()), setup: setup, xr: live.RefOf(xr),
		runner: exportstest.NewRunner(simulated, [32]byte{}, false),
	}
}

func structOf(t *testing.T, o map[string]any) *structpb.Struct {
	t.Helper()

	b, err := json.Marshal(o)
	out := &structpb.Struct{}

	if err == nil {
		err = out.UnmarshalJSON(b)
	}

	if err != nil {
		t.Fatal(err)
	}

	return out
}

// inControlPlane plays the moments. Each one ends as soon as what it expects exists, or fails after some time.
func (p *played) inControlPlane() (failures []exportstest.Failure) {
	p.create()

	for i := range p.Spec.Tests[0].Moments {
		m := &p.Spec.Tests[0].Moments[i]
		time.Sleep(m.After.Duration)

		for _, a := range m.Do {
			p.must(p.do(&a, i))
		}

		p.readings = append(p.readings, exportstest.Reading{})

		if err := eventually(p.Context(), soon, m.Name, func() error {
			p.readings[i] = p.read()
			failures = p.runner.Check(p.Context(), p.ExportsTest, 0, p.setup, p.readings)

			return wantText(len(failures) == 0, "the failures say why not")
		}); err != nil {
			return failures
		}
	}

	return nil
}

// create creates the definition, the Composition and the composite.
func (p *played) create() {
	in := p.Spec.Inputs
	xrd := &unstructured.Unstructured{Object: in.XRD.(map[string]any)}

	p.Cleanup(func() { _ = p.Delete(context.WithoutCancel(p.Context()), p.xr) })
	p.apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + p.ns + "}}")
	p.must(p.ApplyObject(p.Context(), xrd))
	p.must(p.WaitForCondition(p.Context(), soon, live.RefOf(xrd), "Established"))
	p.must(p.ApplyObject(p.Context(), &unstructured.Unstructured{Object: in.Composition.(map[string]any)}))
	p.eventually("the composite", func() error {
		return p.ApplyObject(p.Context(), &unstructured.Unstructured{Object: in.XR.(map[string]any)})
	})
}

// do does what an action says.
func (p *played) do(a *exportstest.Action, moment int) error {
	switch {
	case a.Rotate != "":
		return p.Patch(p.Context(), p.xr, fmt.Sprintf(
			`{"metadata": {"annotations": {"export.fn.crossplane.io/rotate": "%s=%d"}}}`, a.Rotate, moment))
	case a.Delete != "":
		return p.Delete(p.Context(), p.refOf(a.Delete))
	}

	return fmt.Errorf("the control plane does not play %+v", *a)
}

// refOf returns the object of a composition resource name in the last moment.
func (p *played) refOf(name string) live.Ref {
	for _, o := range p.readings[len(p.readings)-1].Objects {
		if simulation.Meta(o, "annotations", simulation.ResourceNameAnnotation) == name {
			return live.RefOf(&unstructured.Unstructured{Object: o.AsMap()})
		}
	}

	return live.Ref{}
}

// read reads the composite, and the Secrets that it composes.
func (p *played) read() exportstest.Reading {
	secrets, err := p.List(p.Context(), "v1", "Secret", p.ns, "crossplane.io/composite="+p.xr.Name)
	p.must(err)

	out := exportstest.Reading{At: time.Now(), Composite: structOf(p.T, p.get(p.xr).Object)}

	for _, o := range secrets {
		if o.GetDeletionTimestamp() == nil {
			out.Objects = append(out.Objects, structOf(p.T, o.Object))
		}
	}

	return out
}
