package plan

import (
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/expression"
)

// status refuses a field that the composite does not have: Crossplane fails to write
// all of the status for it, after everything else was applied.
func (c *typeCheck) status(s statusField) {
	want := c.fieldAt(c.composite, s.at.Child("fieldPath").String(), append([]string{"status"}, s.segments...))
	if want != nil && s.value != nil {
		c.fits(s.value, want, "status."+s.path)
	}
}

// manifest refuses what set writes into fields that the kind does not have.
func (c *typeCheck) manifest(m maker) {
	if m.manifest == nil {
		return
	}
	kind := c.kind(Kind{APIVersion: m.manifest.apiVersion, Kind: m.manifest.kind})
	for i, f := range m.manifest.set {
		at := m.path.Child(kindResource, "set").Index(i).Child("fieldPath").String()
		segments, err := propertySegments(f.at.String())
		if err != nil || f.value == nil {
			continue // it has an index
		}
		if want := c.fieldAt(kind, at, segments); want != nil {
			c.fits(f.value, want, f.at.String())
		}
	}
}

// fieldAt is the type of a field, or nil if that is not known, or it is a fault.
func (c *typeCheck) fieldAt(t *types.Type, at string, segments []string) *types.Type {
	for _, s := range segments {
		switch {
		case t.Kind() == types.MapKind:
			t = t.Parameters()[1]
		case t.Kind() != types.StructKind:
			return nil
		default:
			next, ok := c.types.Field(t.TypeName(), s)
			if !ok {
				c.fault(at, "%s", c.types.Lacks(t.TypeName(), s))
				return nil
			}
			t = next
		}
	}
	return t
}

// fits refuses a result that a field cannot take.
func (c *typeCheck) fits(x *expression.Expression, want *types.Type, name string) {
	have := c.results[x]
	if have == nil || isFit(have, want) {
		return
	}
	c.fault(x.Source().Path, "%s", expression.Typing{Objects: c.types}.Misfit(have, name, want))
}

// isFit reports whether a value may be of a type, as far as is known.
func isFit(have, want *types.Type) bool {
	if have.Kind() == types.OpaqueKind && len(have.Parameters()) == 1 {
		have = have.Parameters()[0] // an optional
	}
	isObject := func(t *types.Type) bool { return t.Kind() == types.StructKind || t.Kind() == types.MapKind }
	open := func(t *types.Type) bool {
		return slices.Contains([]types.Kind{types.DynKind, types.AnyKind, types.ErrorKind, types.TypeParamKind, types.NullTypeKind}, t.Kind())
	}
	switch {
	case open(have), open(want), isObject(have) && isObject(want):
		return true
	case have.Kind() == types.ListKind && want.Kind() == types.ListKind:
		return isFit(have.Parameters()[0], want.Parameters()[0])
	case have.Kind() == types.DoubleKind && want.Kind() == types.IntKind: // a whole one is
		return true
	case have.Kind() == types.UintKind:
		return want.Kind() == types.IntKind
	}
	return have.Kind() == want.Kind()
}

// compositePath refuses a path that the composite does not have.
func (c *typeCheck) compositePath(f compositePath) {
	segments, err := fieldpath.Parse(f.path)
	if err != nil || f.path == "" {
		return // refused by validate
	}
	names := make([]string, 0, len(segments))
	for _, s := range segments {
		if s.Type != fieldpath.SegmentField {
			break
		}
		names = append(names, s.Field)
	}
	c.fieldAt(c.composite, f.at, names)
}
