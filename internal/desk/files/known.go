package files

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/desk/typecheck"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// Knowledge holds what the command line and the files declare about kinds.
type Knowledge struct {
	Settings  *Settings
	Catalog   *catalog.Catalog
	schemas   []string             // files to learn from
	resources map[string]plan.Kind // by composed resource
	keys      map[string][]string  // by composed resource, or kind
	functions []rules.Function     // installed by the checked files

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
		Settings: settings, Catalog: catalog.NewCatalog(), resources: map[string]plan.Kind{},
		keys:    maps.Clone(settings.keys),
		missing: map[plan.Kind]bool{},
	}
	for name, text := range flags.Resources {
		kind, ok := parseKind(text)
		if !ok {
			return k, errors.New("--resource: write it as NAME=group/version/Kind, for example " +
				"db=rds.aws.upbound.io/v1beta1/Instance")
		}
		k.resources[name] = kind
	}
	for name, text := range flags.ConnectionKeys {
		keys := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' })
		_, isKind := parseKind(name)
		if len(keys) == 0 || name == "" || strings.Contains(name, "/") && !isKind {
			return k, errors.New("--connection-keys: write it as NAME=KEY,KEY with the name of a composed " +
				"resource, or its kind as group/version/Kind")
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
	wanted := k.wanted(steps)
	read := s.ReadAll(k.schemas, func(text string) bool {
		return catalog.Declares(text, func(kind string) bool { return wanted[kind] })
	})
	for _, f := range read {
		if err := f.First(); err != nil {
			return err
		}
	}
	if wrong := k.learn(read); len(wrong) > 0 {
		return fmt.Errorf("%s:%d: %s", wrong[0].File, wrong[0].Line, wrong[0].Message)
	}
	return nil
}

// learnFunction notes a Function.
func (k *Knowledge) learnFunction(object map[string]any) {
	var ignored decode.First
	v := decode.Value{Raw: object, Report: ignored.Report}
	if group, _, _ := strings.Cut(v.Get("apiVersion").Text(), "/"); group == "pkg.crossplane.io" &&
		object["kind"] == "Function" {
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

// Of returns what is known about the objects that a step reads. Expressions of plans of its Composition show which of
// their fields are numbers.
func (k *Knowledge) Of(s Step, plans ...*plan.Plan) *typecheck.Known {
	out := &typecheck.Known{Resources: map[string]plan.Kind{}, ConnectionKeys: map[string][]string{}, Schema: k.find,
		Scope: k.Catalog.ScopeOf}
	if c := s.composition; c != nil {
		numbers := sync.OnceValue(func() map[plan.Kind][]map[string]any { return out.Numbers(plans...) })
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
			if s.index == i {
				out.Required = []string{} // not nil: all of them are known
				for _, r := range step.Required {
					out.Required = append(out.Required, r.Name)
				}
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
	maps.Copy(out.Resources, k.resources)
	kinds := maps.Clone(out.Resources)
	kinds[expression.Composite] = out.Composite
	for name, kind := range kinds {
		keys, ok := k.keys[kind.Path()]
		if !ok {
			keys = k.Catalog.ConnectionSecretKeys(kind)
		}
		if keys != nil {
			out.ConnectionKeys[name] = keys
		}
	}
	for name, keys := range k.keys { // also of resources that no step names literally
		if !strings.Contains(name, "/") {
			out.ConnectionKeys[name] = keys
		}
	}
	return out
}

// mayMatter scans a text quickly. It returns true for each text with an input of this function, the schema of a kind,
// or a Function.
func mayMatter(text string) bool {
	return mayHoldSteps(text) || strings.Contains(text, "ResourceDefinition") || strings.Contains(text, "kind: "+
		"Function")
}

// kindForm is group/version/Kind, or version/Kind for the core group.
var kindForm = lazy.MustCompile(`^((?:[a-z0-9.-]+/)?[a-z](?:[-a-z0-9]*[a-z0-9])?)/([A-Za-z][-A-Za-z0-9]*)$`)

func parseKind(text string) (plan.Kind, bool) {
	m := kindForm().FindStringSubmatch(text)
	if m == nil {
		return plan.Kind{}, false
	}
	return plan.Kind{APIVersion: m[1], Kind: m[2]}, true
}
