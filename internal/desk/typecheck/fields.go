package typecheck

import (
	"cel.dev/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// status refuses a field that the composite does not have. With such a field, Crossplane would apply
// everything else and then fail to write the whole status.
func (c *Inspection) status(s plan.StatusField) {
	if len(s.Segments) == 0 {
		return // refused by validate
	}
	want := c.fieldAt(c.composite, s.At.Child("fieldPath").String(), append([]string{"status"}, s.Segments...))
	if want != nil && s.Value != nil {
		c.fits(s.Value, want, "status."+s.Path)
	}
}

// manifest refuses fields in set that the kind does not have.
func (c *Inspection) manifest(m plan.Generator) {
	r := m.Manifest
	if r == nil {
		return
	}
	kind := c.kind(r.Object())
	for i, f := range r.Set {
		at := m.Path.Child(plan.KindResource, "set").Index(i).Child("fieldPath").String()
		segments, err := plan.FieldNames(f.At.String())
		if err != nil || f.Value == nil {
			continue // it has an index
		}
		if want := c.fieldAt(kind, at, segments); want != nil {
			c.fits(f.Value, want, f.At.String())
		}
	}
}

// fieldAt returns the type of a field. It returns nil if the type is unknown or the field was refused.
func (c *Inspection) fieldAt(t *types.Type, at string, segments []string) *types.Type {
	for _, s := range segments {
		switch {
		case t.Kind() == types.MapKind:
			t = t.Parameters()[1]
		case t.Kind() != types.StructKind:
			return nil
		default:
			next, ok := c.Field(t.TypeName(), s)
			if !ok {
				c.report(at, "%s", c.Lacks(t.TypeName(), s))
				return nil
			}
			t = next
		}
	}
	return t
}

// fits refuses a result that a field cannot hold.
func (c *Inspection) fits(x *expression.Expression, want *types.Type, name string) {
	have := c.results[x]
	if have == nil || isFit(have, want) {
		return
	}
	err := &expression.Error{Class: expression.Misfit, Name: name, Types: []*types.Type{have, want}}
	out := &expression.Errors{Source: x.Source(), Environment: x.Environment(), All: []*expression.Error{err},
		Typing: expression.Typing{Objects: c.Types}, Tree: x.Tree()}
	d := out.Diagnostics()[0]
	*c.report(x.Source().Path, "%s", d.Message) = d.Edits
}

// isFit reports whether a value of one type may fit another type. Unknown types fit.
func isFit(have, want *types.Type) bool {
	have = celast.WithoutOptional(have)
	isObject := func(t *types.Type) bool { return celast.IsKind(t, types.StructKind, types.MapKind) }
	open := func(t *types.Type) bool {
		return celast.IsKind(t, types.DynKind, types.AnyKind, types.ErrorKind, types.TypeParamKind, types.NullTypeKind)
	}
	switch {
	case open(have), open(want), isObject(have) && isObject(want):
		return true
	case have.Kind() == types.ListKind && want.Kind() == types.ListKind:
		return isFit(have.Parameters()[0], want.Parameters()[0])
	case celast.IsNumber(have): // an int may also be a whole double
		return celast.IsNumber(want)
	}
	return have.Kind() == want.Kind()
}

// compositePaths refuses literal paths of the composite in the input that it does not have.
func (c *Inspection) compositePaths(in *v1beta1.Exports) {
	if in.Environment != nil {
		for i, e := range in.Environment.EnvironmentConfigs {
			if e.Selector == nil {
				continue
			}
			labels := plan.EnvironmentPath().Child("environmentConfigs").Index(i).Child("selector", "matchLabels")
			for j, l := range e.Selector.MatchLabels {
				if l.Type == v1beta1.EnvironmentLabelFromComposite || l.Type == "" {
					c.compositePath(labels.Index(j).Child("valueFromFieldPath"), l.ValueFromFieldPath)
				}
			}
		}
	}
	if in.FromComposite != nil {
		c.compositePath(field.NewPath("fromComposite", "fieldPath"), in.FromComposite.FieldPath)
	}
}

// compositePath refuses a path that the composite does not have.
func (c *Inspection) compositePath(at *field.Path, path string) {
	segments, err := fieldpath.Parse(path)
	if err != nil || path == "" {
		return // refused by validate
	}
	names := make([]string, 0, len(segments))
	for _, s := range segments {
		if s.Type != fieldpath.SegmentField {
			break
		}
		names = append(names, s.Field)
	}
	c.fieldAt(c.composite, at.String(), names)
}
