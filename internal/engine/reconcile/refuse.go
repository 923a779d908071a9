package reconcile

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/composite"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A refusal finds the diagnostics of the input that depend on the composite and the pipeline: names that another step
// uses, and namespaces that the composite cannot have. With a diagnostic, nothing is applied.
type refusal struct {
	composite composite.Composite
	resources map[string]observation.Resource
	desired   map[string]wire.Struct
	elsewhere map[string]bool // the generators of other steps
	grants    bool            // objects of other namespaces need a ReferenceGrant
	plan      *plan.Plan

	diagnostics []error
}

func (r *refusal) report(at *field.Path, format string, args ...any) {
	r.diagnostics = append(r.diagnostics, &diagnostic.Diagnostic{Path: at.String(),
		Message: fmt.Sprintf(format, args...)})
}

func (r *refusal) run() error {
	for _, s := range r.plan.Sources {
		r.source(s)
	}
	for i := range r.plan.Generators {
		r.generator(&r.plan.Generators[i])
	}
	for _, e := range r.plan.Exports {
		if _, earlier := r.desired[e.Name]; earlier && e.ForEach == nil {
			r.report(e.Path.Child("name"), "%s", plan.ComposedTwice(e.Name))
		}
		at, ns := e.Path.Child("metadata", "namespace"), e.Metadata.Namespace
		if ns == "" && e.Metadata.NamespaceExpr == nil && r.composite.Namespace == "" {
			r.report(at, plan.NoNamespace)
		}
		r.namespace(at, ns)
	}
	return errors.Join(r.diagnostics...)
}

func (r *refusal) source(s plan.Source) {
	_, observed := r.resources[s.Name]
	_, desired := r.desired[s.Name]
	if plan.IsSecret(s.Source) && (observed || desired) {
		r.report(s.Path.Child("name"), "%s", plan.TwoMeanings(s.Name))
	}
	name, message := plan.RefuseSource(s.Source, r.composite.Cluster, r.composite.Namespace == "", r.grants)
	if message != "" {
		r.report(s.Path.Child(name), "%s", message)
	}
}

func (r *refusal) generator(m *plan.Generator) {
	for name := range r.elsewhere {
		if name == m.Name || m.ForEach != nil && strings.HasPrefix(name, plan.ItemName(m.Name, "")) {
			r.report(m.Path.Child("name"), "an earlier step of the pipeline also has a generator %q: rename one of them",
				m.Name)
			break
		}
	}
	if m.LacksNamespace() && r.composite.Namespace == "" {
		r.report(m.NamespacePath(), plan.NoNamespace)
	}
	r.namespace(m.NamespacePath(), m.Namespace)
}

// namespace reports a namespace that is not the composite's own.
func (r *refusal) namespace(at *field.Path, ns string) {
	if ns != "" && !r.composite.Cluster && ns != r.composite.Namespace {
		r.report(at, "is %q, but a composite in namespace %q can compose only into its own namespace: leave it out",
			ns, r.composite.Namespace)
	}
}
