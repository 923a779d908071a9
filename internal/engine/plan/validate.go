package plan

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
)

// validate returns the diagnostics of an input that do not need compiled expressions: those of the
// input's definition, and those that a definition cannot express. compile adds the diagnostics of
// the compiler. If a list is over its limit, validate uses only the definition and the decoder.
//
// If a field has several diagnostics, one of them is kept: the diagnostic of the decoder, or
// otherwise the one that is more specific than the definition.
func validate(s *structpb.Struct, in *v1beta1.Exports, d *decoder, compile func() diagnostic.List) diagnostic.List {
	defined, v := definition.Check(s), &validator{}
	if !slices.ContainsFunc(defined, func(f definition.Finding) bool { return f.Unbounded }) {
		v.input(in)
		v.diagnostics = append(v.diagnostics, compile()...)
	}
	own := slices.DeleteFunc(v.diagnostics, func(o *diagnostic.Diagnostic) bool {
		return o.Line == 0 && d.explains(o.Path, v.missing[o.Path])
	})
	out := slices.Concat(d.diagnostics, own)
	known := pathsOf(own)
	for _, f := range defined {
		if !known.repeat(f) && !d.explains(f.Path, f.Missing) {
			out = append(out, f.Diagnostic)
		}
	}
	return out
}

// knownPaths are the paths of diagnostics. The value is false if only a field below the path has a
// diagnostic.
type knownPaths map[string]bool

func pathsOf(list diagnostic.List) knownPaths {
	out := knownPaths{}
	for _, d := range list {
		if d.Line > 0 {
			continue
		}
		for i, c := range d.Path {
			if c != '.' && c != '[' {
				continue
			}
			if _, known := out[d.Path[:i]]; !known {
				out[d.Path[:i]] = false
			}
		}
		out[d.Path] = true
	}
	return out
}

// repeat reports whether a diagnostic of the definition is about a field that already has one.
func (k knownPaths) repeat(f definition.Finding) bool {
	return k[f.Path] || k[f.Object] || slices.ContainsFunc(f.Reads, func(path string) bool {
		_, below := k[path]
		return below
	})
}

// identifier of CEL.
var identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

type validator struct {
	diagnostics diagnostic.List
	missing     map[string]bool // paths of missing fields: another field may be misspelt
}

func (v *validator) report(p *field.Path, format string, args ...any) {
	v.diagnostics = append(v.diagnostics, wrong(p, format, args...))
}

func (v *validator) err(at *field.Path, err error) {
	if err != nil {
		v.report(at, "%s", err.Error())
	}
}

func (v *validator) input(in *v1beta1.Exports) {
	v.missing = map[string]bool{"apiVersion": true, "kind": true}
	if in.APIVersion != v1beta1.APIVersion {
		v.report(field.NewPath("apiVersion"), "must be "+v1beta1.APIVersion)
	}
	if in.Kind != v1beta1.Kind {
		v.report(field.NewPath("kind"), "must be "+v1beta1.Kind)
	}
	v.environment(in.Environment)
	for i, s := range in.Sources {
		v.source(field.NewPath("sources").Index(i), s)
	}
	for i, g := range in.Generators {
		v.generator(generatorsPath(i), g)
	}
	v.exports(in)
	v.status(in.Status)
	v.fromComposite(in)
}

// source refuses a source that Crossplane cannot read, because the whole reconcile would fail.
func (v *validator) source(at *field.Path, s v1beta1.Source) {
	group, version, grouped := strings.Cut(s.APIVersion, "/")
	if grouped && (group == "" || version == "" || strings.Contains(version, "/")) {
		v.report(at.Child("apiVersion"), "must be a version, or a group, a slash and a version, as in apps/v1")
	}
	if s.Namespace != "" {
		v.err(at.Child("namespace"), object.ValidateNamespace(s.Namespace))
	}
	if s.MatchName != "" {
		v.err(at.Child("matchName"), ValidateObjectName(s.MatchName))
	}
	if s.MatchName == "" && s.NameExpression == "" && len(s.MatchLabels) == 0 && s.Name != "" {
		v.err(at.Child("name"), ValidateObjectName(s.Name))
	}
	for _, k := range SortedKeys(s.MatchLabels) {
		if len(validation.IsQualifiedName(k)) > 0 || len(validation.IsValidLabelValue(s.MatchLabels[k])) > 0 {
			v.report(at.Child("matchLabels"), "%q is not a valid label key, or its value is not a valid label value", k)
		}
	}
}

// ValidateObjectName refuses a name that is invalid for objects of all kinds.
func ValidateObjectName(name string) error {
	if diagnostics := path.IsValidPathSegmentName(name); len(diagnostics) > 0 {
		return fmt.Errorf("is not a valid name of an object: it %s", diagnostics[0])
	}
	return nil
}

// set refuses fields that cannot be written, and fields that replace a value that an earlier entry
// writes. judge can refuse other paths.
func (v *validator) set(list *field.Path, paths []string, judge func(at *field.Path, p environment.Path)) {
	before := map[int]environment.Path{}
	for i, text := range paths {
		at := list.Index(i).Child("fieldPath")
		if text == "" {
			continue
		}
		p, err := environment.ParsePath(text)
		if err != nil {
			v.err(at, err)
			continue
		}
		for j := range i {
			if b, ok := before[j]; ok && p.Covers(b) {
				v.report(at, "replaces the value that %s writes: remove one of them, or move this one before it", list.Index(j))
				break
			}
		}
		before[i] = p
		judge(at, p)
	}
}

func (v *validator) status(status []v1beta1.StatusField) {
	type written struct {
		at       *field.Path
		segments string
	}
	var before []written
	for i, s := range status {
		at := field.NewPath("status").Index(i).Child("fieldPath")
		if s.FieldPath == "" {
			continue
		}
		segments, err := statusSegments(s.FieldPath)
		if err != nil {
			v.err(at, err)
			continue
		}
		now := written{at, strings.Join(segments, "\x00") + "\x00"}
		for _, b := range before {
			if strings.HasPrefix(now.segments, b.segments) || strings.HasPrefix(b.segments, now.segments) {
				v.report(now.at, "%q is also written by %s: keep one of them", s.FieldPath, b.at)
				break
			}
		}
		before = append(before, now)
	}
}

// statusSegments returns the field names of a path below status. Crossplane itself writes
// conditions.
func statusSegments(p string) ([]string, error) {
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
			return nil, errors.New("must contain only field names: write a list as a whole")
		}
		out = append(out, s.Field)
	}
	if out[0] == "conditions" || out[0] == "crossplane" {
		return nil, fmt.Errorf("must not be %s, which Crossplane writes: write a field of your own", out[0])
	}
	return out, nil
}
