package reconcile

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/inspect"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

const noSchemas = "typeChecking: is Strict, but this version of Crossplane passes no schemas (v2.2 and later do): " +
	"nothing is checked; check the input with function-export check, and set it to Warn"

// checkStrictly checks the types of an input with typeChecking Strict, once all schemas were read.
func checkStrictly(s *session, p *plan.Plan, req *request) (reply, error) {
	var out reply
	switch {
	case !p.Strict:
		return out, nil
	case !req.HasSchemas:
		out.report(Outcome{Warn: true, Message: noSchemas})
		return out, nil
	}
	known := s.known(p, req)
	kinds := inspect.KindsRead(p)
	for _, name := range plan.SortedKeys(known.Resources) {
		kinds = append(kinds, known.Resources[name])
	}
	if !out.readSchemas(req, append(kinds, known.Composite)) {
		return out, nil
	}
	diagnostics, err := inspect.CheckTypesWithin(s.budget, p, known)
	if err != nil {
		why := "was stopped: " + err.Error() + ": check the input with function-export check, and set it to Warn"
		diagnostics = diagnostic.List{{Path: "typeChecking", Message: why}}
	}
	return out, diagnostics.Error()
}

// known returns the kinds of the composite and of each composed resource that an expression names and
// that is observed, or desired by an earlier step.
func (s *session) known(p *plan.Plan, req *request) *inspect.Known {
	out := &inspect.Known{Composite: kindOfObject(s.object), Resources: map[string]plan.Kind{}}
	out.Schema = s.schemas(req, out)
	for _, name := range p.Inputs {
		if p.ExportNamed(name) {
			continue
		}
		res, observed := s.observed.Resources[name]
		desired, composed := req.Desired[name]
		switch is, shall := kindOfObject(res.Object), kindOfObject(desired); {
		case observed && composed && is != shall: // it will change
			out.Resources[name] = plan.Kind{}
		case observed:
			out.Resources[name] = is
		case composed:
			out.Resources[name] = shall
		}
	}
	return out
}

func kindOfObject(s wire.Struct) plan.Kind {
	apiVersion, kind, _, _ := object.Identity(s)
	return plan.Kind{APIVersion: apiVersion, Kind: kind}
}

// schemas decodes each schema once, because schemas are large.
func (s *session) schemas(req *request, out *inspect.Known) func(plan.Kind) *structpb.Struct {
	decoded, left := map[plan.Kind]*structpb.Struct{}, limits.SchemaBytes
	return func(k plan.Kind) *structpb.Struct {
		if _, ok := decoded[k]; ok {
			return decoded[k]
		}
		n := req.Schemas[k].Size()
		left -= n
		switch err := s.budget.Decode(n); {
		case left < 0:
			out.Stopped = fmt.Errorf("the schemas that it reads have more than %d bytes together", limits.SchemaBytes)
		case err != nil:
			out.Stopped = err
		default:
			decoded[k] = req.Schemas[k].Proto()
		}
		return decoded[k]
	}
}

// readSchemas requires schemas, and reports whether all were read.
func (r *reply) readSchemas(req *request, kinds []plan.Kind) bool {
	all := true
	for _, k := range kinds {
		if k.Kind == "" || k == (plan.Kind{APIVersion: "v1", Kind: "Secret"}) || slices.Contains(r.schemas, k) {
			continue
		}
		r.schemas = append(r.schemas, k)
		if _, ok := req.Schemas[k]; !ok {
			all, r.unread = false, true
		}
	}
	return all
}
