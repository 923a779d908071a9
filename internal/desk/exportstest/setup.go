package exportstest

import (
	"maps"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
)

// A Setup is what a test begins with: the content of its inputs.
type Setup struct {
	XR       *structpb.Struct // with a UID
	Steps    []composition.Step
	Observed []Observed
	Required []*structpb.Struct // other objects
	Context  *structpb.Struct
	Schemas  func(*fnv1.SchemaSelector) *fnv1.Schema

	// Later are the pipelines from a moment on, by its index.
	Later map[int][]composition.Step

	// Functions run the steps that are not recorded and that this function does not run, by the name of the function.
	Functions map[string]world.Function
}

// Observed is a composed resource that exists.
type Observed struct {
	Name    string
	Object  *structpb.Struct
	Details map[string][]byte
}

// An Engine returns a function with this clock, and with randomness from a seed.
type Engine func(now func() time.Time, seed [32]byte) (world.Function, error)

// firstDay is when a test begins that names no time.
var firstDay = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// isExports reports whether a step runs this function.
func isExports(s composition.Step) bool {
	return s.Input["apiVersion"] == v1beta1.APIVersion && s.Input["kind"] == v1beta1.Kind
}

// build returns the simulation at its beginning.
func (s *Setup) build(now time.Time, call world.Function, recorded map[string]Recorded) (*world.World, error) {
	w := world.New(proto.CloneOf(s.XR))
	w.Now = now
	w.Meta, w.Context, w.Schemas = &fnv1.RequestMeta{Capabilities: world.Capabilities()}, s.Context, s.Schemas
	for _, o := range s.Required {
		w.Put(o)
	}
	for _, o := range s.Observed {
		w.Adopt(o.Name, o.Object)
		if o.Details != nil {
			w.Details[w.Listed[len(w.Listed)-1]] = o.Details
		}
	}
	return w, s.compose(w, s.Steps, call, recorded)
}

// compose sets the pipeline: the steps of this function, and what the other steps return.
func (s *Setup) compose(w *world.World, steps []composition.Step, call world.Function, recorded map[string]Recorded) error {
	w.Steps, w.Earlier = nil, &fnv1.State{Resources: map[string]*fnv1.Resource{}}
	for _, step := range steps {
		run, ours := call, isExports(step)
		if _, isRecorded := recorded[step.Name]; !ours {
			if run = s.Functions[step.Function]; run == nil || isRecorded {
				if err := s.earlier(w, step, recorded); err != nil {
					return err
				}
				continue
			}
		}
		var input *structpb.Struct
		if step.Input != nil {
			var err error
			if input, err = structpb.NewStruct(step.Input); err != nil {
				return err //nolint:wrapcheck // the file has been read as JSON
			}
		}
		// Without its TTL, the function asks for calls only at its own times. In between, it would see and do the same.
		if ttl := input.GetFields()["ttl"]; ours && (ttl == nil || isDuration(ttl.GetStringValue())) {
			world.Set(input, "0s", "ttl")
		}
		w.Steps = append(w.Steps, world.Step{Input: input, Call: run, Required: Required(step)})
	}
	return nil
}

func isDuration(text string) bool {
	_, err := time.ParseDuration(text)
	return err == nil
}

// earlier adds what a step of another function desires.
func (s *Setup) earlier(w *world.World, step composition.Step, recorded map[string]Recorded) error {
	objects := map[string]any{}
	if r, ok := recorded[step.Name]; ok {
		objects = r.Resources
	} else {
		known := map[string]bool{}
		for _, r := range step.Resources {
			known[r.Name] = true
			if base := s.baseOf(step, r.Name); base != nil {
				objects[r.Name] = base
			}
		}
		for _, o := range s.Observed {
			if known[o.Name] || step.Opaque && !s.isOurs(o) {
				objects[o.Name] = Desired(o.Object).AsMap()
			}
		}
	}
	for name, v := range objects {
		m, _ := v.(map[string]any)
		o, err := structpb.NewStruct(m)
		if err != nil {
			return err //nolint:wrapcheck // the file has been read as JSON
		}
		w.Earlier.Resources[name] = &fnv1.Resource{Resource: o}
	}
	return nil
}

// baseOf returns the base of a resource of function-patch-and-transform, or nil. Patches do not run, but if one of them
// names the connection Secret, the base gets a name for it.
func (s *Setup) baseOf(step composition.Step, name string) map[string]any {
	resources, _ := step.Input["resources"].([]any)
	for _, r := range resources {
		fields, _ := r.(map[string]any)
		base, _ := fields["base"].(map[string]any)
		if fields["name"] != name || base == nil {
			continue
		}
		patches, _ := fields["patches"].([]any)
		for _, p := range patches {
			patch, _ := p.(map[string]any)
			if o, err := structpb.NewStruct(base); err == nil && patch["toFieldPath"] == "spec.writeConnectionSecretToRef.name" {
				world.Set(o, world.Meta(s.XR, "name")+"-"+name+"-details", "spec", "writeConnectionSecretToRef", "name")
				base = o.AsMap()
			}
		}
		return base
	}
	return nil
}

// serverFields are the fields of metadata that the API server and Crossplane set.
var serverFields = []string{"uid", "creationTimestamp", "ownerReferences", "managedFields", "resourceVersion"}

func isServers[V any](field string, _ V) bool { return slices.Contains(serverFields, field) }

// Desired returns an observed object as a step desires it.
func Desired(o *structpb.Struct) *structpb.Struct {
	out := proto.CloneOf(o)
	delete(out.GetFields(), "status")
	maps.DeleteFunc(object.Metadata(out), isServers)
	return out
}

// isOurs reports whether this function composes an observed object.
func (s *Setup) isOurs(o Observed) bool {
	return isMarked(o.Object.AsMap()) || newExports(s.Steps)[exportOf(o.Name)] != nil || strings.HasPrefix(o.Name, generationPrefix)
}

// Required returns what the Composition requires for a step.
func Required(step composition.Step) map[string]*fnv1.ResourceSelector {
	if len(step.Required) == 0 {
		return nil
	}
	out := map[string]*fnv1.ResourceSelector{}
	for _, r := range step.Required {
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

// The composition resource names of generations begin with this.
const generationPrefix = "generated/"

// exports are the exports of a pipeline: the expression of each key that has one.
type exports map[string]map[string]string

// generators returns the generators in the inputs, also in those of later Compositions.
func (s *Setup) generators() (out []map[string]any) {
	for _, step := range slices.Concat(s.Pipelines()...) {
		list, _ := step.Input["generators"].([]any)
		for _, g := range list {
			if fields, ok := g.(map[string]any); ok && isExports(step) {
				out = append(out, fields)
			}
		}
	}
	return out
}

func newExports(steps []composition.Step) exports {
	out := exports{}
	for _, step := range steps {
		if !isExports(step) {
			continue
		}
		variables, _ := step.Input["variables"].([]any)
		for _, list := range []string{"secrets", "configMaps"} {
			entries, _ := step.Input[list].([]any)
			for _, entry := range entries {
				fields, _ := entry.(map[string]any)
				if name, _ := fields["name"].(string); name != "" {
					out[name] = expressionsOf(fields, variables)
				}
			}
		}
	}
	return out
}

// expressionsOf returns the expression of each key of an export, with the texts of the variables that it reads. The key
// of a map is empty.
func expressionsOf(export map[string]any, variables []any) map[string]string {
	out := map[string]string{}
	data, _ := export["data"].([]any)
	for _, item := range data {
		fields, _ := item.(map[string]any)
		key, _ := fields["key"].(string)
		text, _ := fields["value"].(string)
		if key == "" {
			text, _ = fields["valueMap"].(string)
		}
		for _, v := range slices.Backward(variables) { // a variable reads only those before it
			variable, _ := v.(map[string]any)
			if name, _ := variable["name"].(string); strings.Contains(text, "variables."+name) {
				value, _ := variable["value"].(string)
				text += " " + value
			}
		}
		out[key] = text
	}
	return out
}

// exportOf returns the name of the export that composes an object: an object of a list has a key after it.
func exportOf(resource string) string {
	name, _, _ := strings.Cut(resource, "/")
	return name
}

// expression returns the expression of a key of an object.
func (e exports) expression(resource, key string) string {
	keys := e[exportOf(resource)]
	if text, ok := keys[key]; ok {
		return text
	}
	return keys[""]
}

// Pipelines returns the pipelines in the order of their moments.
func (s *Setup) Pipelines() [][]composition.Step {
	out := append(make([][]composition.Step, 0, 1+len(s.Later)), s.Steps)
	for _, moment := range slices.Sorted(maps.Keys(s.Later)) {
		out = append(out, s.Later[moment])
	}
	return out
}
