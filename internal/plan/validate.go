package plan

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
)

// The longest TTL. Crossplane reconciles hourly by itself.
const maxTTL = 24 * time.Hour

var identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// validate finds the faults of an input that need no expression. What the
// input's CustomResourceDefinition refuses is refused here as well: nobody else
// looks at it.
func validate(in *v1beta1.Exports) field.ErrorList {
	v := &validator{}
	if in.APIVersion != v1beta1.APIVersion {
		v.fault(field.NewPath("apiVersion"), "must be %s", v1beta1.APIVersion)
	}
	if in.Kind != v1beta1.Kind {
		v.fault(field.NewPath("kind"), "must be %s", v1beta1.Kind)
	}
	if in.TTL != nil && in.TTL.Duration != 0 && (in.TTL.Duration < time.Second || in.TTL.Duration > maxTTL) {
		v.fault(field.NewPath("ttl"), "must be 0s, or from 1s to 24h")
	}
	v.sources(in.Sources)
	v.variables(in.Variables)
	names := v.names("composition resource name", 0)
	v.length(field.NewPath("secrets"), len(in.Secrets), limits.ListItems)
	for i, s := range in.Secrets {
		at := field.NewPath("secrets").Index(i)
		names(at.Child("name"), s.Name)
		if s.Type == "kubernetes.io/service-account-token" {
			v.fault(at.Child("type"), "Kubernetes fills a %s Secret itself", s.Type)
		}
		v.metadata(at, s.Name, s.Metadata)
		v.data(at.Child("data"), s.Data)
	}
	v.length(field.NewPath("configMaps"), len(in.ConfigMaps), limits.ListItems)
	for i, m := range in.ConfigMaps {
		at := field.NewPath("configMaps").Index(i)
		names(at.Child("name"), m.Name)
		v.metadata(at, m.Name, m.Metadata)
		data := make([]v1beta1.SecretData, 0, len(m.Data))
		for _, d := range m.Data {
			data = append(data, d.SecretData)
		}
		v.data(at.Child("data"), data)
	}
	v.status(in.Status)
	return v.faults
}

type validator struct{ faults field.ErrorList }

func (v *validator) fault(p *field.Path, format string, args ...any) {
	v.faults = append(v.faults, invalid(p, format, args...))
}

func (v *validator) length(p *field.Path, n, most int) {
	if n > most {
		v.fault(p, "has %d items, over the limit of %d: split the input into several pipeline steps", n, most)
	}
}

// names returns a function that refuses a name that is empty, too long, or
// there already.
func (v *validator) names(what string, most int) func(*field.Path, string) {
	first := map[string]*field.Path{}
	return func(at *field.Path, name string) {
		switch other, ok := first[name]; {
		case name == "":
			v.fault(at, "must be set")
		case len(name) > 253 || most > 0 && len(name) > most:
			v.fault(at, "is too long")
		case ok:
			v.fault(at, "%s %q is the one of %s, too: rename one of them", what, name, other)
		default:
			first[name] = at
		}
	}
}

func (v *validator) sources(sources []v1beta1.Source) {
	v.length(field.NewPath("sources"), len(sources), limits.ListItems)
	names := v.names("source", 0)
	for i, s := range sources {
		at := field.NewPath("sources").Index(i)
		names(at.Child("name"), s.Name)
		if s.APIVersion == "" {
			v.fault(at.Child("apiVersion"), "must be set")
		}
		if s.Kind == "" {
			v.fault(at.Child("kind"), "must be set")
		}
		if s.Scope != "" && s.Scope != v1beta1.ScopeNamespaced && s.Scope != v1beta1.ScopeCluster {
			v.fault(at.Child("scope"), "must be Namespaced or Cluster")
		}
		v.exclusive(at, map[string]bool{"matchName": s.MatchName != "", "nameExpression": s.NameExpression != "", "matchLabels": len(s.MatchLabels) > 0})
		if s.Scope == v1beta1.ScopeCluster && s.Namespace != "" {
			v.fault(at.Child("namespace"), "must not be set when scope is Cluster")
		}
		if !isSecret(s) {
			continue
		}
		if s.Scope == v1beta1.ScopeCluster {
			v.fault(at.Child("scope"), "must be Namespaced for a Secret")
		}
		if s.NameExpression != "" && s.Namespace != "" {
			v.fault(at.Child("namespace"), "must not be set beside the nameExpression of a Secret, which lies in the composite's own namespace: use matchName, or leave the namespace out")
		}
	}
}

// exclusive refuses a second field of those that exclude each other.
func (v *validator) exclusive(at *field.Path, set map[string]bool) {
	var names []string
	for _, n := range sortedKeys(set) {
		if set[n] {
			names = append(names, n)
		}
	}
	if len(names) > 1 {
		v.fault(at.Child(names[1]), "must not be set beside %s: keep one of them", names[0])
	}
}

func (v *validator) variables(variables []v1beta1.Variable) {
	v.length(field.NewPath("variables"), len(variables), limits.ListItems)
	names := v.names("variable", 63)
	for i, x := range variables {
		at := field.NewPath("variables").Index(i)
		names(at.Child("name"), x.Name)
		if x.Name != "" && !identifier.MatchString(x.Name) {
			v.fault(at.Child("name"), "must be a CEL identifier: letters, digits and '_', not beginning with a digit")
		}
		if x.Value == "" {
			v.fault(at.Child("value"), "must be set")
		}
	}
}

func (v *validator) metadata(at *field.Path, export string, m *v1beta1.Metadata) {
	if m == nil {
		m = &v1beta1.Metadata{}
	}
	at = at.Child("metadata")
	v.exclusive(at, map[string]bool{"name": m.Name != "", "nameExpression": m.NameExpression != ""})
	v.exclusive(at, map[string]bool{"namespace": m.Namespace != "", "namespaceExpression": m.NamespaceExpression != ""})
	if m.Name != "" {
		v.err(at.Child("name"), object.ValidateName(m.Name))
	}
	if m.Name == "" && m.NameExpression == "" && export != "" && len(validation.IsDNS1123Subdomain("x-"+export)) > 0 {
		v.fault(at.Child("name"), "must be set, for %q cannot be part of the object's name", export)
	}
	if m.Namespace != "" {
		v.err(at.Child("namespace"), object.ValidateNamespace(m.Namespace))
	}
	for _, err := range object.ValidateLabels(m.Labels) {
		v.err(at.Child("labels"), err)
	}
	for _, err := range object.ValidateAnnotations(m.Annotations) {
		v.err(at.Child("annotations"), err)
	}
}

func (v *validator) err(at *field.Path, err error) {
	if err != nil {
		v.fault(at, "%s", err.Error())
	}
}

func (v *validator) data(at *field.Path, data []v1beta1.SecretData) {
	if len(data) == 0 {
		v.fault(at, "must have at least one item")
	}
	v.length(at, len(data), limits.DataItems)
	first := map[string]*field.Path{}
	for i, d := range data {
		at := at.Index(i)
		switch {
		case d.Value == "" && d.ValueMap == "":
			v.fault(at, "must have value or valueMap")
		case d.Value != "" && d.ValueMap != "":
			v.fault(at.Child("valueMap"), "must not be set beside value: keep one of them")
		case d.Value != "" && d.Key == "":
			v.fault(at.Child("key"), "must be set, for value is the value of one key")
		case d.ValueMap != "" && d.Key != "":
			v.fault(at.Child("key"), "must not be set beside valueMap, which gives its keys itself")
		}
		if d.Key == "" {
			continue
		}
		v.err(at.Child("key"), object.ValidateKey(d.Key))
		if other, ok := first[d.Key]; ok {
			v.fault(at.Child("key"), "%q is written by %s, too: keep one of them", d.Key, other)
			continue
		}
		first[d.Key] = at.Child("key")
	}
}

func (v *validator) status(status []v1beta1.StatusField) {
	v.length(field.NewPath("status"), len(status), limits.ListItems)
	type written struct {
		at       *field.Path
		segments string
	}
	var before []written
	for i, s := range status {
		at := field.NewPath("status").Index(i)
		if s.Value == "" {
			v.fault(at.Child("value"), "must be set")
		}
		segments, err := statusSegments(s.FieldPath)
		if err != nil {
			v.err(at.Child("fieldPath"), err)
			continue
		}
		now := written{at.Child("fieldPath"), strings.Join(segments, "\x00") + "\x00"}
		for _, b := range before {
			if strings.HasPrefix(now.segments, b.segments) || strings.HasPrefix(b.segments, now.segments) {
				v.fault(now.at, "%q is written by %s, too: keep one of them", s.FieldPath, b.at)
				break
			}
		}
		before = append(before, now)
	}
}

// statusSegments are the field names of a path below status. Crossplane writes
// conditions itself.
func statusSegments(path string) ([]string, error) {
	if path == "" {
		return nil, fmt.Errorf("must be set")
	}
	segments, err := fieldpath.Parse(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be parsed as a field path: %w", err)
	}
	out := make([]string, 0, len(segments))
	for _, s := range segments {
		if s.Type != fieldpath.SegmentField || s.Field == "*" {
			return nil, fmt.Errorf("must name fields only: write a list as a whole")
		}
		out = append(out, s.Field)
	}
	if out[0] == "conditions" || out[0] == "crossplane" {
		return nil, fmt.Errorf("must not be %s, which Crossplane writes", out[0])
	}
	return out, nil
}
