package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// patchAndTransform replaces function-patch-and-transform, the first step
// of every example, because the Go proxy refuses its module (403). It does what the
// examples use: bases, patches from the composite with a string format, the policy
// Required, and readiness by the Ready condition or not at all. It refuses anything
// else, so that an example expects what the real function returns.
type patchAndTransform struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

type resourcesInput struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Resources  []resourceTemplate `json:"resources"`
}

type resourceTemplate struct {
	Name            string           `json:"name"`
	Base            map[string]any   `json:"base"`
	Patches         []patch          `json:"patches"`
	ReadinessChecks []readinessCheck `json:"readinessChecks"`
}

type patch struct {
	FromFieldPath string      `json:"fromFieldPath"`
	ToFieldPath   string      `json:"toFieldPath"`
	Transforms    []transform `json:"transforms"`
	Policy        struct {
		FromFieldPath string `json:"fromFieldPath"`
	} `json:"policy"`
}

type transform struct {
	Type   string `json:"type"`
	String struct {
		Type   string `json:"type"`
		Format string `json:"fmt"`
	} `json:"string"`
}

type readinessCheck struct {
	Type string `json:"type"`
}

func (patchAndTransform) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(time.Minute)},
		Desired: req.GetDesired(),
		Context: req.GetContext(),
	}

	desired, warnings, err := compose(req)
	if err != nil {
		rsp.Results = []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_FATAL, Message: err.Error()}}
		return rsp, nil //nolint:nilerr // The result says it.
	}

	rsp.Desired = &fnv1.State{Composite: req.GetDesired().GetComposite(), Resources: desired}

	for _, w := range warnings {
		rsp.Results = append(rsp.Results, &fnv1.Result{Severity: fnv1.Severity_SEVERITY_WARNING, Message: w})
	}

	if len(warnings) > 0 {
		rsp.Desired.Composite = &fnv1.Resource{
			Resource: req.GetDesired().GetComposite().GetResource(), Ready: fnv1.Ready_READY_FALSE,
		}
	}

	return rsp, nil
}

// compose adds the input's resources to the desired ones. A new resource that lacks a
// required value is left out, with a warning.
func compose(req *fnv1.RunFunctionRequest) (map[string]*fnv1.Resource, []string, error) {
	input, err := req.GetInput().MarshalJSON()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read input: %w", err)
	}

	in := resourcesInput{}
	strict := json.NewDecoder(strings.NewReader(string(input)))
	strict.DisallowUnknownFields()

	if err := strict.Decode(&in); err != nil {
		return nil, nil, fmt.Errorf("cannot do what the input wants: %w", err)
	}

	desired := map[string]*fnv1.Resource{}
	for name, r := range req.GetDesired().GetResources() {
		desired[name] = r
	}

	var warnings []string

	for _, t := range in.Resources {
		observed := req.GetObserved().GetResources()[t.Name].GetResource()

		r, missing, err := t.render(req.GetObserved().GetComposite().GetResource())
		if err != nil {
			return nil, nil, fmt.Errorf("cannot render resource %q: %w", t.Name, err)
		}

		if missing != nil && observed == nil {
			warnings = append(warnings, fmt.Sprintf("not adding new composed resource %q to desired state because %v", t.Name, missing))
			continue
		}

		if r.Ready, err = t.readiness(observed); err != nil {
			return nil, nil, fmt.Errorf("cannot check readiness of resource %q: %w", t.Name, err)
		}

		desired[t.Name] = r
	}

	return desired, warnings, nil
}

// render a resource. The first error is about a required value that the composite lacks.
func (t resourceTemplate) render(composite *structpb.Struct) (r *fnv1.Resource, missing, err error) {
	from, to := fieldpath.Pave(composite.AsMap()), fieldpath.Pave(t.Base)

	for i, p := range t.Patches {
		value, err := from.GetValue(p.FromFieldPath)
		if fieldpath.IsNotFound(err) {
			if p.Policy.FromFieldPath == "Required" {
				missing = fmt.Errorf("\"FromCompositeFieldPath\" patch at index %d has 'policy.fromFieldPath: Required': %w", i, err)
			}

			continue
		}

		if err != nil {
			return nil, nil, err
		}

		for _, f := range p.Transforms {
			if f.Type != "string" || f.String.Type != "Format" {
				return nil, nil, fmt.Errorf("cannot transform by %q", f.Type)
			}

			value = fmt.Sprintf(f.String.Format, value)
		}

		if err := to.SetValue(p.ToFieldPath, value); err != nil {
			return nil, nil, err
		}
	}

	s, err := structpb.NewStruct(to.UnstructuredContent())

	return &fnv1.Resource{Resource: s}, missing, err
}

// readiness of an observed resource, which is nil if there is none: that of its
// Ready condition, or with the check None always true.
func (t resourceTemplate) readiness(observed *structpb.Struct) (fnv1.Ready, error) {
	for _, c := range t.ReadinessChecks {
		if c.Type != "None" {
			return 0, fmt.Errorf("cannot check by %q", c.Type)
		}
	}

	if observed != nil && len(t.ReadinessChecks) > 0 {
		return fnv1.Ready_READY_TRUE, nil
	}

	for _, c := range observed.GetFields()["status"].GetStructValue().GetFields()["conditions"].GetListValue().GetValues() {
		f := c.GetStructValue().GetFields()
		if f["type"].GetStringValue() == "Ready" && f["status"].GetStringValue() == "True" {
			return fnv1.Ready_READY_TRUE, nil
		}
	}

	return fnv1.Ready_READY_UNSPECIFIED, nil
}

// servePatchAndTransform serves the stand-in until the test ends, and returns
// its address.
func servePatchAndTransform(t *testing.T) string {
	t.Helper()

	return serveRunner(t, patchAndTransform{})
}

// serveRunner serves a function of this process until the test ends, and returns
// its address.
func serveRunner(t *testing.T, runner fnv1.FunctionRunnerServiceServer) string {
	t.Helper()

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("cannot listen: %v", err)
	}

	server := grpc.NewServer()
	fnv1.RegisterFunctionRunnerServiceServer(server, runner)
	t.Cleanup(server.Stop)

	go func() { _ = server.Serve(listener) }() // It ends with the test.

	return listener.Addr().String()
}
