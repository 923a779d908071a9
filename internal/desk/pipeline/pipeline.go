// Package pipeline puts the pipeline of a Composition into a simulation of Crossplane: steps of this function are
// called, and what other steps desire is recorded, recomputed, or taken as it is composed now. The commands that run
// Compositions on files (render, test, diff and why) differ only in the state with which they begin.
package pipeline

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Pipeline is the pipeline of a Composition, or of a revision of it. Several goroutines may use it.
type Pipeline struct {
	*composition.Composition

	inputs []*structpb.Struct // of the steps
}

// New returns the pipeline of a Composition.
func New(c *composition.Composition) *Pipeline {
	out := &Pipeline{Composition: c}
	for _, s := range c.Steps {
		input := s.Input
		if s.Environment != nil { // this function looks the environment up in the same way
			input = map[string]any{"apiVersion": v1beta1.APIVersion, "kind": v1beta1.Kind, "environment": s.Environment}
		}
		var in *structpb.Struct
		if input != nil {
			in = world.StructOf(input)
		}
		out.inputs = append(out.inputs, in)
	}
	return out
}

// IsExports reports whether a step runs this function, also if its input is missing.
func IsExports(s composition.Step) bool {
	group, _, _ := strings.Cut(v1beta1.APIVersion, "/")
	return s.Group() == group || s.Group() == "" && strings.HasSuffix(s.Function, "function-export")
}

// Exports returns the inputs of this function.
func (p *Pipeline) Exports() (out []map[string]any) {
	for _, s := range p.Steps {
		if IsExports(s) {
			out = append(out, s.Input)
		}
	}
	return out
}

// Generators returns the generators in the inputs, by name.
func (p *Pipeline) Generators() map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, input := range p.Exports() {
		list, _ := input["generators"].([]any)
		for _, v := range list {
			g, _ := v.(map[string]any)
			if name, _ := g["name"].(string); name != "" {
				out[name] = g
			}
		}
	}
	return out
}

// composes reports whether an export of this function has the composition resource name. The object of an item has a
// key after it.
func (p *Pipeline) composes(resource string) bool {
	export, _, _ := strings.Cut(resource, "/")
	return slices.ContainsFunc(p.Steps, func(s composition.Step) bool {
		return IsExports(s) && names(s, export)
	})
}

// names reports whether a step names a resource. function-patch-and-transform names the Secret with the connection
// details of its resources itself.
func names(s composition.Step, resource string) bool {
	if slices.ContainsFunc(s.Resources, func(r composition.Resource) bool { return r.Name == resource }) {
		return true
	}
	resources, _ := s.Input["resources"].([]any)
	return strings.HasSuffix(resource, "connection-secret") && slices.ContainsFunc(resources, func(r any) bool {
		fields, _ := r.(map[string]any)
		return fields["connectionDetails"] != nil
	})
}

// Options say what the steps of a pipeline do.
type Options struct {
	Call        func(step int) world.Function // this function, for a step
	Seen        func(*reconcile.Result)       // is called with each result of a simulation; may be nil
	Environment bool                          // it also plays function-environment-configs
	Others      map[string]world.Function     // run steps of other functions, by the names of the Functions
	Recorded    map[string]map[string]any     // what other steps desire, by the names of the steps
	Recomputed  map[string]*structpb.Struct   // what all other steps desire, or nil
	InUse       *Pipeline                     // composed what is observed; nil if it is unknown, or the same
}

// Play sets the pipeline of a simulation.
func (p *Pipeline) Play(w *world.World, o Options) {
	w.Steps, w.Earlier = nil, &fnv1.State{Resources: map[string]*fnv1.Resource{}}
	desired := maps.Clone(o.Recomputed)
	var others []composition.Step
	for i, s := range p.Steps {
		call := o.Others[s.Function]
		recorded, isRecorded := o.Recorded[s.Name]
		switch {
		case IsExports(s), s.Environment != nil && o.Environment:
			call = o.Call(i)
		case isRecorded:
			for name, v := range recorded {
				fields, _ := v.(map[string]any)
				w.Earlier.Resources[name] = &fnv1.Resource{Resource: world.StructOf(fields)}
			}
			continue
		case call == nil:
			others = append(others, s)
			continue
		}
		w.Steps = append(w.Steps, world.Step{Input: p.inputs[i], Call: call, Required: required(s)})
	}
	if len(w.Steps) == 0 {
		w.Steps = []world.Step{{Call: nothing}}
	}
	if desired == nil {
		desired = p.asComposedNow(w, others, o)
	}
	for name, r := range desired {
		w.Earlier.Resources[name] = &fnv1.Resource{Resource: r}
	}
}

// nothing is a step that changes nothing.
func nothing(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return &fnv1.RunFunctionResponse{Desired: req.GetDesired(), Context: req.GetContext()}, nil
}

// required returns what the Composition requires for a step.
func required(s composition.Step) map[string]*fnv1.ResourceSelector {
	if len(s.Required) == 0 {
		return nil
	}
	out := map[string]*fnv1.ResourceSelector{}
	for _, r := range s.Required {
		sel := &fnv1.ResourceSelector{ApiVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace}
		switch {
		case r.MatchName != nil:
			sel.Match = &fnv1.ResourceSelector_MatchName{MatchName: *r.MatchName}
		case r.MatchLabels != nil:
			sel.Match = &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: r.MatchLabels}}
		}
		out[r.Name] = sel
	}
	return out
}

// asComposedNow returns what steps of other functions desire: what is observed under the names of their resources, and
// all that only a step can compose whose resources are not known. A resource that is new has its literal base.
func (p *Pipeline) asComposedNow(w *world.World, others []composition.Step, o Options) map[string]*structpb.Struct {
	out := map[string]*structpb.Struct{}
	// by the pipeline in use
	known := func(name string) bool { return o.InUse != nil && namedByOthers(o.InUse.Steps, name) }
	isOpaque := slices.ContainsFunc(others, func(s composition.Step) bool { return s.Opaque })
	for _, key := range w.Listed {
		observed := w.Stored[key]
		name := NameOf(observed)
		isTheirs := namedByOthers(others, name)
		ours := IsOurs(observed) || p.composes(name) && !isTheirs
		if !ours && (isTheirs || isOpaque && !known(name)) {
			out[name] = Desired(observed)
		}
	}
	for _, s := range others { // an export may become a resource of another step
		for _, r := range s.Resources {
			if out[r.Name] == nil && !known(r.Name) {
				out[r.Name] = baseOf(w, s, r)
			}
		}
	}
	return out
}

// namedByOthers reports whether a step of another function names a resource.
func namedByOthers(steps []composition.Step, name string) bool {
	return slices.ContainsFunc(steps, func(s composition.Step) bool { return !IsExports(s) && names(s, name) })
}

// baseOf returns the literal base of a resource, or else its kind.
func baseOf(w *world.World, s composition.Step, r composition.Resource) *structpb.Struct {
	base := world.StructOf(r.Base)
	if r.Base == nil {
		world.Set(base, r.APIVersion, "apiVersion")
		world.Set(base, r.Kind, "kind")
	}
	if patchesConnectionSecret(s, r.Name) { // patches do not run, but a provider needs a name for its Secret
		name := world.Meta(w.XR, "name") + "-" + r.Name + "-details"
		world.Set(base, name, "spec", "writeConnectionSecretToRef", "name")
	}
	return base
}

// patchesConnectionSecret reports whether a patch of function-patch-and-transform names the connection Secret.
func patchesConnectionSecret(s composition.Step, name string) bool {
	resources, _ := s.Input["resources"].([]any)
	return slices.ContainsFunc(resources, func(r any) bool {
		fields, _ := r.(map[string]any)
		patches, _ := fields["patches"].([]any)
		return fields["name"] == name && slices.ContainsFunc(patches, func(p any) bool {
			patch, _ := p.(map[string]any)
			return patch["toFieldPath"] == "spec.writeConnectionSecretToRef.name"
		})
	})
}

// NameOf returns the composition resource name of an object.
func NameOf(o *structpb.Struct) string {
	return world.Meta(o, "annotations", world.ResourceNameAnnotation)
}

// IsGeneration reports whether an object is a generation of a generator.
func IsGeneration(o *structpb.Struct) bool {
	return strings.HasPrefix(NameOf(o), plan.GenerationPrefix)
}

// IsOurs reports whether this function composes an object: it is a generation, or has a state that only this function
// writes.
func IsOurs(o *structpb.Struct) bool {
	for key := range object.Metadata(o)["annotations"].GetStructValue().GetFields() {
		if strings.HasPrefix(key, object.StatePrefix) {
			return true
		}
	}
	return IsGeneration(o)
}

// IsServers reports whether the API server or Crossplane sets a field of metadata.
func IsServers[V any](field string, _ V) bool {
	return slices.Contains([]string{
		"uid", "creationTimestamp", "ownerReferences", "managedFields", "resourceVersion",
	}, field)
}

// Desired returns an observed object as a step desires it.
func Desired(o *structpb.Struct) *structpb.Struct {
	out := proto.CloneOf(o)
	delete(out.GetFields(), "status")
	maps.DeleteFunc(object.Metadata(out), IsServers)
	return out
}

// DataOf returns the decoded data of a Secret or a ConfigMap.
func DataOf(o *structpb.Struct) map[string]string {
	out := map[string]string{}
	isSecret := object.IsSecret(wire.Of(o))
	for _, field := range []string{"stringData", "data", "binaryData"} {
		for key, v := range o.GetFields()[field].GetStructValue().GetFields() {
			out[key] = v.GetStringValue()
			b, err := base64.StdEncoding.DecodeString(out[key])
			if err == nil && (field == "binaryData" || field == "data" && isSecret) {
				out[key] = string(b)
			}
		}
	}
	return out
}
