package environment

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// section is the path of the environment in the input.
var section = field.NewPath("environment")

// A conformanceCase, as the header of testdata/conformance.yaml explains it.
type conformanceCase struct {
	Name, Reason, Differs   string
	Environment             *v1beta1.Environment
	Composite, Before, Want *structpb.Struct
	Selectors               []*Selector
	Found                   [][]*structpb.Struct
	Faults                  []string
}

// run all of it, as fn does.
func (c conformanceCase) run(t *testing.T) (*structpb.Struct, []string) {
	t.Helper()
	l := compiled(t, c.Environment)
	selectors, faults := l.Selectors(sent(t, c.Composite), sent(t, c.Before))
	if c.Selectors != nil {
		if diff := cmp.Diff(c.Selectors, selectors); diff != "" {
			t.Errorf("%s: selectors: -want, +got:\n%s", c.Reason, diff)
		}
	}
	if len(faults) > 0 && selectors != nil {
		t.Errorf("%s: selectors beside faults: %v", c.Reason, selectors)
	}
	if len(faults) > 0 || c.Found == nil {
		return nil, texts(faults)
	}
	got, faults := l.Merge(budget.New(context.Background()), c.Before, selectors, readAll(t, c.Found))
	return got, texts(faults)
}

func TestConformance(t *testing.T) {
	raw, err := os.ReadFile("testdata/conformance.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []conformanceCase }
	if err := yaml.UnmarshalStrict(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 30 {
		t.Errorf("only %d cases were read", len(file.Cases))
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			unchanged := watch(c)
			got, faults := c.run(t)
			if diff := cmp.Diff(c.Want, got, protocmp.Transform()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.Reason, diff)
			}
			if diff := cmp.Diff(c.Faults, faults); diff != "" {
				t.Errorf("%s: faults: -want, +got:\n%s", c.Reason, diff)
			}
			if again, _ := c.run(t); !proto.Equal(got, again) {
				t.Errorf("%s: got another environment the second time", c.Reason)
			}
			unchanged(t)
		})
	}
}

// watch returns a test that nothing that went in was written to.
func watch(c conformanceCase) func(*testing.T) {
	in := []*structpb.Struct{c.Composite, c.Before}
	for _, found := range c.Found {
		in = append(in, found...)
	}
	var before []*structpb.Struct
	for _, s := range in {
		before = append(before, proto.CloneOf(s))
	}
	return func(t *testing.T) {
		t.Helper()
		if diff := cmp.Diff(before, in, protocmp.Transform()); diff != "" {
			t.Errorf("what went in was changed: -before, +after:\n%s", diff)
		}
	}
}

func compiled(t testing.TB, in *v1beta1.Environment) *Lookup {
	t.Helper()
	l, faults := Compile(section, in)
	if len(faults) > 0 {
		t.Fatalf("cannot compile: %v", faults)
	}
	return l
}

// fromYAML decodes strictly, as the input is decoded.
func fromYAML[T any](t testing.TB, text string) T {
	t.Helper()
	var out T
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// texts of the diagnostics, as a user sees them.
func texts(list diagnostic.List) []string {
	var out []string
	for _, d := range list {
		out = append(out, d.Error())
	}
	return out
}
