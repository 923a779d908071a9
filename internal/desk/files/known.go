package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/desk/typecheck"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// Knowledge holds what the command line and the files declare about kinds.
type Knowledge struct {
	Settings  *Settings
	Catalog   *catalog.Catalog
	schemas   []string                    // files to learn from
	resources map[string]plan.Kind        // by composed resource
	keys      map[string][]string         // by composed resource, or kind
	configs   map[string]*structpb.Struct // EnvironmentConfigs by name
	functions []rules.Function            // installed by the checked files

	mu      sync.Mutex
	missing map[plan.Kind]bool // without a schema
}

// Flags declare kinds: the paths of files with schemas, the kinds of composed resources, and the keys of connection
// details by composed resource or kind.
type Flags struct {
	Schemas                   []string
	Resources, ConnectionKeys map[string]string
}

func (s *System) newKnowledge(flags Flags, settings *Settings) (*Knowledge, error) {
	k := &Knowledge{
		Settings: settings, Catalog: catalog.NewCatalog(), resources: map[string]plan.Kind{}, keys: maps.Clone(settings.keys),
		configs: map[string]*structpb.Struct{}, missing: map[plan.Kind]bool{},
	}
	for name, text := range flags.Resources {
		kind, ok := parseKind(text)
		if !ok {
			return nil, errors.New("--resource: write it as NAME=group/version/Kind, for example db=rds.aws.upbound.io/v1beta1/Instance")
		}
		k.resources[name] = kind
	}
	for name, text := range flags.ConnectionKeys {
		keys := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' })
		_, isKind := parseKind(name)
		if len(keys) == 0 || name == "" || strings.Contains(name, "/") && !isKind {
			return nil, errors.New("--connection-keys: write it as NAME=KEY,KEY with the name of a composed resource, or its kind as group/version/Kind")
		}
		k.keys[name] = keys
	}
	var err error
	k.schemas, err = s.Find(slices.Concat(flags.Schemas, settings.schemas), Below)
	return k, err
}

// find returns the schema of a kind.
func (k *Knowledge) find(kind plan.Kind) *structpb.Struct {
	s := k.Catalog.Find(kind)
	if s == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.missing[kind] = true
	}
	return s
}

// Untyped returns the kinds without a schema.
func (k *Knowledge) Untyped() []string {
	out := make([]string, 0, len(k.missing))
	for kind := range k.missing {
		out = append(out, kind.Path())
	}
	slices.Sort(out)
	return out
}

// learn learns the kinds that the checked files declare. An error in a declaration is a diagnostic,
// and the kind stays unknown.
func (k *Knowledge) learn(read []File) []Diagnostic {
	var out []Diagnostic
	for _, f := range read {
		for _, o := range f.Objects() {
			object, _ := o.Value.(map[string]any)
			k.learnConfig(object)
			k.learnFunction(object)
			if err := k.Catalog.Add(object); err != nil {
				out = append(out, f.unreadable(o.start(), err.Error()))
			}
		}
	}
	return out
}

// learnSchemas learns the kinds that the steps read from the files with schemas.
func (k *Knowledge) learnSchemas(s System, steps []Step) error {
	s.Stdin = nil // it has inputs
	if err := k.checkNames(steps); err != nil || len(k.schemas) == 0 {
		return err
	}
	wanted := k.wanted(steps)
	var defines atomic.Bool
	declares := func(text string) bool {
		if strings.Contains(text, "ResourceDefinition") {
			defines.Store(true)
		}
		return catalog.Declares(text, func(kind string) bool { return wanted[kind] })
	}
	read := s.ReadAll(k.schemas, declares)
	for _, f := range read {
		if err := f.First(); err != nil {
			return err
		}
		for _, o := range f.Objects() {
			object, _ := o.Value.(map[string]any)
			if err := k.Catalog.Add(object); err != nil {
				return fmt.Errorf("%s:%d: %w", f.Name, o.start().Line, err)
			}
		}
	}
	if !defines.Load() {
		return fmt.Errorf("--schema: cannot find an XRD or a CRD in %s: name the files with the definitions", suggest.List(k.schemas))
	}
	return nil
}

// checkNames refuses flags about composed resources that no pipeline composes, if all names are known. It does not quote
// the name, because a value of another flag may be in its place.
func (k *Knowledge) checkNames(steps []Step) error {
	names, closed := composedNames(steps)
	if !closed {
		return nil
	}
	refuse := func(flag, name string) error {
		if slices.Contains(names, name) || name == expression.Composite || strings.Contains(name, "/") {
			return nil
		}
		return fmt.Errorf("%s: a name is not the name of a composed resource%s", flag,
			suggest.ThereAre(name, names, "the pipeline composes none"))
	}
	for _, name := range slices.Sorted(maps.Keys(k.resources)) {
		if err := refuse("--resource", name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.keys)) {
		if err := refuse("--connection-keys", name); err != nil {
			return err
		}
	}
	return nil
}

// composedNames returns the names of the composed resources of other steps. closed says that there are no others.
func composedNames(steps []Step) (names []string, closed bool) {
	for _, s := range steps {
		if s.composition == nil || !s.composition.Closed() {
			return nil, false
		}
		for _, step := range s.composition.Steps {
			for _, r := range step.Resources {
				if !IsExports(step) {
					names = append(names, r.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), len(steps) > 0
}

// learnConfig notes an EnvironmentConfig. If two differ, both are unknown, because no file says
// which one is in the cluster.
func (k *Knowledge) learnConfig(object map[string]any) {
	apiVersion, _ := object["apiVersion"].(string)
	if object["kind"] != "EnvironmentConfig" || !strings.HasPrefix(apiVersion, "apiextensions.crossplane.io/") {
		return
	}
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	config, err := structpb.NewStruct(object)
	if former, ok := k.configs[name]; err != nil || ok && !proto.Equal(former, config) {
		config = nil
	}
	k.configs[name] = config
}

// learnFunction notes a Function.
func (k *Knowledge) learnFunction(object map[string]any) {
	var ignored decode.First
	v := decode.Value{Raw: object, Report: ignored.Report}
	if group, _, _ := strings.Cut(v.Get("apiVersion").Text(), "/"); group == "pkg.crossplane.io" && object["kind"] == "Function" {
		k.functions = append(k.functions, rules.Function{
			Name: v.Get("metadata", "name").Text(), Package: v.Get("spec", "package").Text(),
		})
	}
}

// wanted returns the names of kinds whose schemas are needed.
func (k *Knowledge) wanted(steps []Step) map[string]bool {
	out := map[string]bool{}
	for _, kind := range k.resources {
		out[kind.Kind] = true
	}
	for _, s := range steps {
		for _, kind := range kindsIn(s.Input) {
			out[kind] = true
		}
		if s.composition == nil {
			continue
		}
		out[s.composition.CompositeKind] = true
		for _, step := range s.composition.Steps {
			for _, r := range step.Resources {
				out[r.Kind] = true
			}
		}
	}
	return out
}

// kindsIn returns the kinds in an input: the value of each field named kind.
func kindsIn(v any) []string {
	var out []string
	switch c := v.(type) {
	case map[string]any:
		if kind, ok := c["kind"].(string); ok {
			out = append(out, kind)
		}
		for _, e := range c {
			out = append(out, kindsIn(e)...)
		}
	case []any:
		for _, e := range c {
			out = append(out, kindsIn(e)...)
		}
	}
	return out
}

// Of returns what is known about the objects that a step reads. Expressions of its plan, and of plans of other steps of
// its Composition, show which of their fields are numbers.
func (k *Knowledge) Of(ctx context.Context, env *expression.Environment, s Step, p *plan.Plan, others ...*plan.Plan) *typecheck.Known {
	out := &typecheck.Known{Resources: map[string]plan.Kind{}, ConnectionKeys: map[string][]string{}, Schema: k.find,
		Scope: k.Catalog.ScopeOf}
	if c := s.composition; c != nil {
		numbers := sync.OnceValue(func() map[plan.Kind][]map[string]any { return out.Numbers(append(others, p)...) })
		out.Schema = func(kind plan.Kind) *structpb.Struct {
			if found := k.find(kind); found != nil {
				return found
			}
			return c.Schema(kind.APIVersion, kind.Kind, numbers()[kind]...)
		}
		out.Composite = plan.Kind{APIVersion: c.CompositeAPIVersion, Kind: c.CompositeKind}
		out.ClusterScoped = k.Catalog.ClusterScoped(out.Composite)
		out.Closed = c.Closed()
		for i, step := range c.Steps {
			if s.isStep(i) {
				out.Required = requiredNames(step)
				continue
			}
			for _, r := range step.Resources {
				kind := plan.Kind{APIVersion: r.APIVersion, Kind: r.Kind}
				if former, ok := out.Resources[r.Name]; ok && former != kind {
					kind = plan.Kind{} // one or the other, for example by a condition
				}
				out.Resources[r.Name] = kind
			}
		}
	}
	out.Environment = k.environment(ctx, env, s, p)
	maps.Copy(out.Resources, k.resources)
	for name, kind := range out.Resources {
		if keys := k.connectionKeys(name, kind); keys != nil {
			out.ConnectionKeys[name] = keys
		}
	}
	if keys := k.connectionKeys(expression.Composite, out.Composite); keys != nil {
		out.ConnectionKeys[expression.Composite] = keys
	}
	for name, keys := range k.keys { // also of resources that no step names literally
		if !strings.Contains(name, "/") {
			out.ConnectionKeys[name] = keys
		}
	}
	return out
}

// requiredNames returns the names of the resources that the Composition requires for a step; not nil.
func requiredNames(step composition.Step) []string {
	out := make([]string, 0, len(step.Required))
	for _, r := range step.Required {
		out = append(out, r.Name)
	}
	return out
}

// environment returns the environment that a step sees, if it is known: with the changes of each
// step before it and of the step itself.
func (k *Knowledge) environment(ctx context.Context, env *expression.Environment, s Step, own *plan.Plan) *structpb.Struct {
	if s.composition == nil || !s.composition.Closed() {
		return nil
	}
	config := func(name string) *structpb.Struct { return k.configs[name] }
	after := &structpb.Struct{}
	for i, step := range s.composition.Steps {
		if s.isStep(i) {
			return typecheck.EnvironmentAfter(own, after, config) //nolint:contextcheck // files have no deadline
		}
		section, ok := environmentSection(step)
		switch {
		case !ok && mentionsEnvironment(step.Input):
			return nil // it may write into it
		case !ok:
			continue
		}
		p, _ := Step{Input: map[string]any{"apiVersion": v1beta1.APIVersion, "kind": v1beta1.Kind, "environment": section}}.Compile(ctx, env)
		if p == nil {
			return nil // it has errors of its own
		}
		if after = typecheck.EnvironmentAfter(p, after, config); after == nil { //nolint:contextcheck // files have no deadline
			return nil
		}
	}
	return after
}

// environmentSection returns the environment of a step in the form of the function's input.
func environmentSection(step composition.Step) (any, bool) {
	if step.Environment != nil {
		return step.Environment, true
	}
	section, ok := step.Input["environment"]
	return section, ok && step.Input["apiVersion"] == v1beta1.APIVersion
}

// mentionsEnvironment reports whether the environment is anywhere in an input: as a
// field, in a type of patch, or as a key of the context.
func mentionsEnvironment(v any) bool {
	is := func(text string) bool { return strings.Contains(strings.ToLower(text), "environment") }
	switch c := v.(type) {
	case string:
		return is(c)
	case map[string]any:
		for k, e := range c {
			if is(k) || mentionsEnvironment(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(c, mentionsEnvironment)
	}
	return false
}

func (k *Knowledge) connectionKeys(name string, kind plan.Kind) []string {
	if keys, ok := k.keys[name]; ok {
		return keys
	}
	if keys, ok := k.keys[kind.Path()]; ok {
		return keys
	}
	return k.Catalog.ConnectionSecretKeys(kind)
}

// mayMatter scans a text quickly. It returns true for each text with an input of this function, the
// schema of a kind, or an EnvironmentConfig.
func mayMatter(text string) bool {
	return mayHoldSteps(text) || strings.Contains(text, "CustomResourceDefinition") || strings.Contains(text, "CompositeResourceDefinition") ||
		strings.Contains(text, "EnvironmentConfig") || strings.Contains(text, "kind: Function")
}
