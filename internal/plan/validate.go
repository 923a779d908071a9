package plan

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
)

// The longest TTL. Crossplane reconciles hourly by itself.
const maxTTL = 24 * time.Hour

// The longest path of a status field.
const maxFieldPath = 512

var identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// validate finds the faults of an input that need no expression. What the
// input's CustomResourceDefinition refuses is refused here as well: nobody else
// looks at it.
func validate(in *v1beta1.Exports) field.ErrorList {
	v := &validator{}
	if in.APIVersion != v1beta1.APIVersion {
		v.missing(field.NewPath("apiVersion"), "must be "+v1beta1.APIVersion)
	}
	if in.Kind != v1beta1.Kind {
		v.missing(field.NewPath("kind"), "must be "+v1beta1.Kind)
	}
	if in.TTL != nil && in.TTL.Duration != 0 && (in.TTL.Duration < time.Second || in.TTL.Duration > maxTTL) {
		v.fault(field.NewPath("ttl"), "must be 0s, or from 1s to 24h")
	}
	if t := in.TypeChecking; t != "" && t != v1beta1.TypeCheckingWarn && t != v1beta1.TypeCheckingStrict {
		v.fault(field.NewPath("typeChecking"), "must be Warn or Strict")
	}
	v.environment(in.Environment)
	v.sources(in.Sources)
	v.variables(in.Variables)
	v.generators(in)
	v.exports(in)
	v.status(in.Status)
	v.fromComposite(in)
	return v.faults
}

type validator struct{ faults field.ErrorList }

func (v *validator) fault(p *field.Path, format string, args ...any) {
	v.faults = append(v.faults, invalid(p, format, args...))
}

// missing is a fault that may be another one's, which says why it is missing.
func (v *validator) missing(p *field.Path, detail string) {
	v.faults = append(v.faults, field.Required(p, detail))
}

// length returns how many items to look at: of a list over its limit none.
func (v *validator) length(p *field.Path, n, most int) int {
	if n <= most {
		return n
	}
	f := invalid(p, "has %d items, over the limit of %d: split the input into several pipeline steps", n, most)
	f.Type = field.ErrorTypeTooMany
	v.faults = append(v.faults, f)
	return 0
}

// names are what has to be unique, and where each was first.
type names struct {
	what  string
	most  int
	first map[string]*field.Path
}

// name refuses one that is empty, too long, or there already.
func (v *validator) name(all names, at *field.Path, name string) {
	switch other, ok := all.first[name]; {
	case name == "":
		v.missing(at, "must be set")
	case len(name) > all.most:
		v.fault(at, "has %d characters, over the limit of %d", len(name), all.most)
	case ok:
		v.fault(at, "%s %q is the one of %s, too: rename one of them", all.what, name, other)
	default:
		all.first[name] = at
	}
}

func (v *validator) exports(in *v1beta1.Exports) {
	all := names{"composition resource name", 253, map[string]*field.Path{}}
	for i, s := range in.Sources {
		if isSecret(s) { // secrets.<name> would mean the source and the export
			all.first[s.Name] = field.NewPath("sources").Index(i).Child("name")
		}
	}
	from := func(at *field.Path, name string) {
		if slices.ContainsFunc(in.Sources, func(s v1beta1.Source) bool { return isSecret(s) && s.Name == name && name != "" }) {
			v.fault(at, "%q is a source, and no composed resource: leave it out, and read the source as %s", name, expression.PathText(expression.Secrets, name))
		}
	}
	for i, s := range in.Secrets[:v.length(field.NewPath("secrets"), len(in.Secrets), limits.ListItems)] {
		at := field.NewPath("secrets").Index(i)
		v.name(all, at.Child("name"), s.Name)
		v.notTaken(at.Child("name"), s.Name)
		from(at.Child("from"), s.From)
		if s.Type == "kubernetes.io/service-account-token" {
			v.fault(at.Child("type"), "Kubernetes fills a %s Secret itself: use another type", s.Type)
		}
		v.metadata(at, s.Name, s.Metadata)
		v.conflictPolicy(at, s.ConflictPolicy)
		v.dataFrom(at, s.DataFrom)
		v.notEmpty(at.Child("data"), s.Data != nil && len(s.DataFrom) > 0, len(s.Data))
		v.data(at.Child("data"), s.Data, len(s.DataFrom) > 0, s.ConflictPolicy)
	}
	for i, m := range in.ConfigMaps[:v.length(field.NewPath("configMaps"), len(in.ConfigMaps), limits.ListItems)] {
		at := field.NewPath("configMaps").Index(i)
		v.name(all, at.Child("name"), m.Name)
		v.notTaken(at.Child("name"), m.Name)
		from(at.Child("from"), m.From)
		v.metadata(at, m.Name, m.Metadata)
		data := make([]v1beta1.SecretData, 0, len(m.Data))
		for _, d := range m.Data {
			data = append(data, d.SecretData)
		}
		v.conflictPolicy(at, m.ConflictPolicy)
		v.dataFrom(at, m.DataFrom)
		v.notEmpty(at.Child("data"), m.Data != nil && len(m.DataFrom) > 0, len(m.Data))
		v.data(at.Child("data"), data, len(m.DataFrom) > 0, m.ConflictPolicy)
	}
}

// reserved are what extract takes for inputs of its own.
var reserved = []string{expression.Composite, expression.Env}

func (v *validator) sources(sources []v1beta1.Source) {
	all := names{"source", 253, map[string]*field.Path{}}
	for i, s := range sources[:v.length(field.NewPath("sources"), len(sources), limits.ListItems)] {
		at := field.NewPath("sources").Index(i)
		v.name(all, at.Child("name"), s.Name)
		if slices.Contains(reserved, s.Name) {
			v.fault(at.Child("name"), "must not be %s, which extract has for an input of its own: rename it", s.Name)
		}
		switch group, version, grouped := strings.Cut(s.APIVersion, "/"); {
		case s.APIVersion == "":
			v.missing(at.Child("apiVersion"), "must be set, for example v1")
		case grouped && (group == "" || version == "" || strings.Contains(version, "/")):
			v.fault(at.Child("apiVersion"), "must be a version, or a group, a slash and a version, as in apps/v1")
		}
		if s.Kind == "" {
			v.missing(at.Child("kind"), "must be set, for example ConfigMap")
		}
		if s.Scope != "" && s.Scope != v1beta1.ScopeNamespaced && s.Scope != v1beta1.ScopeCluster {
			v.fault(at.Child("scope"), "must be Namespaced or Cluster")
		}
		v.exclusive(at, map[string]bool{"matchName": s.MatchName != "", "nameExpression": s.NameExpression != "", "matchLabels": len(s.MatchLabels) > 0})
		v.selector(at, s)
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

// selector refuses what Crossplane would fail on when it reads the source, and
// the whole reconcile with it.
func (v *validator) selector(at *field.Path, s v1beta1.Source) {
	if s.Namespace != "" {
		v.err(at.Child("namespace"), object.ValidateNamespace(s.Namespace))
	}
	if s.MatchName != "" {
		v.err(at.Child("matchName"), validateObjectName(s.MatchName))
	}
	if s.MatchName == "" && s.NameExpression == "" && len(s.MatchLabels) == 0 && s.Name != "" {
		v.err(at.Child("name"), validateObjectName(s.Name))
	}
	if s.MatchLabels != nil && len(s.MatchLabels) == 0 {
		v.fault(at.Child("matchLabels"), "must have at least one label")
	}
	for _, k := range sortedKeys(s.MatchLabels) {
		if len(validation.IsQualifiedName(k)) > 0 || len(validation.IsValidLabelValue(s.MatchLabels[k])) > 0 {
			v.fault(at.Child("matchLabels"), "%q is not a label, or its value is none that a label can have", k)
		}
	}
}

// validateObjectName refuses what no object of any kind can be called.
func validateObjectName(name string) error {
	if faults := path.IsValidPathSegmentName(name); len(faults) > 0 {
		return fmt.Errorf("is no name of an object: it %s", faults[0])
	}
	return nil
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
	all := names{"variable", 63, map[string]*field.Path{}}
	for i, x := range variables[:v.length(field.NewPath("variables"), len(variables), limits.ListItems)] {
		at := field.NewPath("variables").Index(i)
		v.name(all, at.Child("name"), x.Name)
		if x.Name != "" && !identifier.MatchString(x.Name) {
			v.fault(at.Child("name"), "must have letters, digits and '_' only, and not begin with a digit: expressions read it as variables.<name>")
		}
		if x.Value == "" {
			v.missing(at.Child("value"), "must be set")
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
		v.err(at.Child("name"), notExpression(object.ValidateName(m.Name), m.Name, "nameExpression"))
	}
	if m.Name == "" && m.NameExpression == "" && export != "" && len(validation.IsDNS1123Subdomain("x-"+export)) > 0 {
		v.fault(at.Child("name"), "must be set, for %q cannot be part of the object's name: set it, or rename the export in lower case, without '_'", export)
	}
	if m.Namespace != "" {
		v.err(at.Child("namespace"), notExpression(object.ValidateNamespace(m.Namespace), m.Namespace, "namespaceExpression"))
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

// notExpression says of a wrong name that looks like CEL where that belongs.
func notExpression(err error, text, name string) error {
	if err == nil || !strings.ContainsAny(text, "+'\"()[]{}?") {
		return err
	}
	return fmt.Errorf("is literal: write an expression into %s", name)
}

// text refuses one that is empty or too long.
func (v *validator) text(at *field.Path, s string, most int) {
	if s == "" {
		v.missing(at, "must be set")
	}
	v.most(at, s, most)
}

// most refuses a text that is too long.
func (v *validator) most(at *field.Path, s string, most int) {
	if len(s) > most {
		v.fault(at, "has %d characters, over the limit of %d", len(s), most)
	}
}

// notEmpty refuses a list or map that is there and has nothing.
func (v *validator) notEmpty(at *field.Path, there bool, n int) {
	if there && n == 0 {
		v.fault(at, "must not be empty: leave it out, or give it an item")
	}
}

func (v *validator) conflictPolicy(at *field.Path, p v1beta1.ConflictPolicy) {
	if p != "" && p != v1beta1.ConflictError && p != v1beta1.ConflictLastWins {
		v.fault(at.Child("conflictPolicy"), "must be %s or %s", v1beta1.ConflictError, v1beta1.ConflictLastWins)
	}
}

func (v *validator) dataFrom(at *field.Path, list []v1beta1.DataFrom) {
	at = at.Child("dataFrom")
	v.notEmpty(at, list != nil, len(list))
	for i, d := range list[:v.length(at, len(list), limits.ListItems)] {
		at := at.Index(i)
		set := map[string]bool{"extract": d.Extract != nil, "find": d.Find != nil, "valueMap": d.ValueMap != ""}
		v.exclusive(at, set)
		if !set["extract"] && !set["find"] && !set["valueMap"] {
			v.missing(at, "must have extract, find or valueMap")
		}
		if e := d.Extract; e != nil {
			v.text(at.Child("extract", "key"), e.Key, 253)
			v.most(at.Child("extract", "property"), e.Property, maxFieldPath)
		}
		if f := d.Find; f != nil && f.Path == "" && f.Name == nil && len(f.Tags) == 0 {
			v.missing(at.Child("find"), "must have path, name or tags")
		}
		if f := d.Find; f != nil {
			v.most(at.Child("find", "path"), f.Path, maxFieldPath)
			v.notEmpty(at.Child("find", "tags"), f.Tags != nil, len(f.Tags))
		}
		if f := d.Find; f != nil && f.Name != nil && f.Name.RegExp == "" {
			v.missing(at.Child("find", "name", "regexp"), "must be set")
		}
		for i, r := range d.Rewrite[:v.length(at.Child("rewrite"), len(d.Rewrite), limits.RewriteRules)] {
			if r.RegExp != nil && r.RegExp.Target == nil {
				v.missing(at.Child("rewrite").Index(i).Child("regexp", "target"), "must be set: an empty one removes what source matches")
			}
			if m := r.Merge; m != nil && slices.Contains(m.Priority, "") {
				v.fault(at.Child("rewrite").Index(i).Child("merge", "priority"), "must name keys: an empty one is none")
			}
			if m := r.Merge; m != nil && (m.Strategy == "" || m.Strategy == "Extract") && m.Into != "" {
				v.fault(at.Child("rewrite").Index(i).Child("merge", "into"), "must not be set with strategy Extract: leave it out, or set strategy to JSON")
			}
		}
	}
}

func (v *validator) data(at *field.Path, data []v1beta1.SecretData, bulk bool, conflicts v1beta1.ConflictPolicy) {
	if len(data) == 0 && !bulk {
		v.missing(at, "must have at least one item, unless there is dataFrom")
	}
	first := map[string]*field.Path{}
	for i, d := range data[:v.length(at, len(data), limits.DataItems)] {
		at := at.Index(i)
		switch {
		case d.Value == "" && d.ValueMap == "":
			v.missing(at, "must have value or valueMap")
		case d.Value != "" && d.ValueMap != "":
			v.fault(at.Child("valueMap"), "must not be set beside value: keep one of them")
		case d.Value != "" && d.Key == "":
			v.missing(at.Child("key"), "must be set, for value is the value of one key")
		case d.ValueMap != "" && d.Key != "":
			v.fault(at.Child("key"), "must not be set beside valueMap, which gives its keys itself")
		}
		if d.Key == "" {
			continue
		}
		v.err(at.Child("key"), object.ValidateKey(d.Key))
		if other, ok := first[d.Key]; ok && conflicts != v1beta1.ConflictLastWins {
			v.fault(at.Child("key"), "%q is written by %s, too: keep one of them", d.Key, other)
			continue
		}
		first[d.Key] = at.Child("key")
	}
}

func (v *validator) status(status []v1beta1.StatusField) {
	type written struct {
		at       *field.Path
		segments string
	}
	var before []written
	for i, s := range status[:v.length(field.NewPath("status"), len(status), limits.ListItems)] {
		at := field.NewPath("status").Index(i)
		if s.Value == "" {
			v.missing(at.Child("value"), "must be set")
		}
		if s.FieldPath == "" {
			v.missing(at.Child("fieldPath"), "must be set")
			continue
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
func statusSegments(p string) ([]string, error) {
	if len(p) > maxFieldPath {
		return nil, fmt.Errorf("has %d characters, over the limit of %d", len(p), maxFieldPath)
	}
	segments, err := fieldpath.Parse(p)
	if err != nil {
		return nil, fmt.Errorf("cannot be parsed as a field path: %w", err)
	}
	if len(segments) == 0 {
		return nil, errors.New("must name a field")
	}
	out := make([]string, 0, len(segments))
	for _, s := range segments {
		if s.Type != fieldpath.SegmentField || s.Field == "*" {
			return nil, errors.New("must name fields only: write a list as a whole")
		}
		out = append(out, s.Field)
	}
	if out[0] == "conditions" || out[0] == "crossplane" {
		return nil, fmt.Errorf("must not be %s, which Crossplane writes", out[0])
	}
	return out, nil
}
