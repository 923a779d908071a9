package migrate

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// An xr is the kind of the composites of a Composition, as far as a definition of it is known.
type xr struct {
	schema *structpb.Struct
	scope  catalog.Scope // empty if it is not known
}

// kindOfComposites returns the kind in compositeTypeRef.
func (m *migration) kindOfComposites(ref decode.Value) xr {
	k := catalog.Kind{APIVersion: ref.Get("apiVersion").Text(), Kind: ref.Get("kind").Text()}
	s := m.catalog.Find(k)
	if s == nil {
		return xr{}
	}
	return xr{schema: catalog.OfKind(s), scope: m.catalog.ScopeOf(k)}
}

// may reports whether composites may have a field.
func (x xr) may(path ...any) bool {
	_, ok := catalog.At(x.schema, path...)
	return ok
}

// variable returns the composite. It is dyn if the schema may not have the field.
func (x xr) variable(path ...any) string {
	if s, _ := catalog.At(x.schema, path...); s == nil {
		return "dyn(composite)"
	}
	return "composite"
}

// typeAt returns the JSON type at a path, or nothing if it is not known.
func typeAt(s *structpb.Struct, path ...any) string {
	at, _ := catalog.At(s, path...)
	return at.GetFields()["type"].GetStringValue()
}
