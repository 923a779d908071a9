package observation

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/expression"
)

// lastApplied is the annotation in which kubectl apply keeps a copy of an
// object, its data included.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// A hiddenSecret is a v1 Secret without its data: the Struct is a shallow copy
// that lacks it, and who selects it is told so, instead of waiting for ever.
type hiddenSecret struct{ *fields }

func (h hiddenSecret) Find(key ref.Val) (ref.Val, bool) {
	switch key {
	case types.String("data"), types.String("stringData"):
		return types.WrapErr(&expression.Failed{Reason: "reads the data of a v1 Secret, which is hidden here: read it as secrets.<name>, by a source of kind Secret"}), false
	}
	return h.fields.Find(key)
}

func (h hiddenSecret) Get(key ref.Val) ref.Val      { return get(h, key) }
func (h hiddenSecret) Contains(key ref.Val) ref.Val { return contains(h.fields, key) }

// secretView returns the view of a v1 Secret or of a list of them that expressions get, or
// nil for anything else.
func secretView(s *structpb.Struct) ref.Val {
	kind := s.GetFields()["kind"].GetStringValue()
	if kind != "Secret" && kind != "SecretList" {
		return nil
	}
	if v := s.GetFields()["apiVersion"].GetStringValue(); v != "v1" {
		return nil
	}
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(s.GetFields()))}
	for k, v := range s.GetFields() {
		switch {
		case kind == "SecretList" && k == "items": // their items may lack a kind to know them by
		case k == "data", k == "stringData":
		case k == "metadata":
			out.Fields[k] = withoutLastApplied(v)
		default:
			out.Fields[k] = v
		}
	}
	if kind == "SecretList" {
		return (*fields)(out)
	}
	return hiddenSecret{(*fields)(out)}
}

func withoutLastApplied(metadata *structpb.Value) *structpb.Value {
	annotations := metadata.GetStructValue().GetFields()["annotations"].GetStructValue()
	if _, ok := annotations.GetFields()[lastApplied]; !ok {
		return metadata
	}
	a := without(annotations, lastApplied)
	m := without(metadata.GetStructValue(), "annotations")
	m.Fields["annotations"] = structpb.NewStructValue(a)
	return structpb.NewStructValue(m)
}

func without(s *structpb.Struct, key string) *structpb.Struct {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(s.GetFields()))}
	for k, v := range s.GetFields() {
		if k != key {
			out.Fields[k] = v
		}
	}
	return out
}
