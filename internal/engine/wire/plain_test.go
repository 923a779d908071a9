package wire

import (
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// plainRequest is what a Request tells of what protobuf decoded: no unknown fields, one
// kind of null, and a State for none.
func plainRequest(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionRequest {
	if req.GetMeta() != nil {
		req.GetMeta().ProtoReflect().SetUnknown(nil)
	}
	out := &fnv1.RunFunctionRequest{
		Meta: req.GetMeta(), Input: plainStruct(req.GetInput()), Context: plainStruct(req.GetContext()),
		Observed: plainState(req.GetObserved()), Desired: plainState(req.GetDesired()),
		RequiredResources: map[string]*fnv1.Resources{}, RequiredSchemas: map[string]*fnv1.Schema{},
	}
	for name, found := range req.GetRequiredResources() {
		out.RequiredResources[name] = &fnv1.Resources{}
		for _, r := range found.GetItems() {
			item := &fnv1.Resource{Resource: plainStruct(r.GetResource())}
			out.RequiredResources[name].Items = append(out.RequiredResources[name].Items, item)
		}
	}
	for name, s := range req.GetRequiredSchemas() {
		out.RequiredSchemas[name] = &fnv1.Schema{OpenapiV3: plainStruct(s.GetOpenapiV3())}
	}
	return out
}

func plainState(s *fnv1.State) *fnv1.State {
	out := &fnv1.State{Composite: plainResource(s.GetComposite()), Resources: map[string]*fnv1.Resource{}}
	for name, r := range s.GetResources() {
		out.Resources[name] = plainResource(r)
	}
	return out
}

func plainResource(r *fnv1.Resource) *fnv1.Resource {
	if r == nil {
		return nil
	}
	return &fnv1.Resource{
		Resource:          plainStruct(r.GetResource()),
		ConnectionDetails: r.GetConnectionDetails(),
		Ready:             r.GetReady(),
	}
}

func plainStruct(s *structpb.Struct) *structpb.Struct {
	if s == nil {
		return nil
	}
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(s.GetFields()))}
	for k, v := range s.GetFields() {
		out.Fields[k] = plainValue(v)
	}
	return out
}

func plainValue(v *structpb.Value) *structpb.Value {
	switch v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		return structpb.NewNumberValue(v.GetNumberValue())
	case *structpb.Value_BoolValue:
		return structpb.NewBoolValue(v.GetBoolValue())
	case *structpb.Value_StringValue:
		return structpb.NewStringValue(v.GetStringValue())
	case *structpb.Value_StructValue:
		return structpb.NewStructValue(plainStruct(v.GetStructValue()))
	case *structpb.Value_ListValue:
		out := &structpb.ListValue{}
		for _, e := range v.GetListValue().GetValues() {
			out.Values = append(out.Values, plainValue(e))
		}
		return structpb.NewListValue(out)
	}
	return structpb.NewNullValue()
}
