// Package standin replaces functions of other projects in tests, because the Go proxy refuses
// their modules (403). Each function reads the input of the real one, and composes the same
// objects. It refuses everything that it does not do, so that a test expects only what the real
// function returns.
package standin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// PatchAndTransform replaces function-patch-and-transform v0.10. It does bases, patches from the
// composite with a string format, the policy Required, readiness by the Ready condition or not at
// all, and the connection Secret of a composite.
type PatchAndTransform struct {
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

	ConnectionDetails []connectionDetail `json:"connectionDetails"`
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

type connectionDetail struct {
	Type string `json:"type"`
	Name string `json:"name"`
	Key  string `json:"fromConnectionSecretKey"`
}

// RunFunction adds the resources of the input to the desired ones.
func (PatchAndTransform) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse,
	error) {
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
	maps.Copy(desired, req.GetDesired().GetResources())

	var warnings []string

	composite, details := req.GetObserved().GetComposite().GetResource(), map[string]any{}

	for _, t := range in.Resources {
		observed := req.GetObserved().GetResources()[t.Name].GetResource()

		if err := t.details(req.GetObserved().GetResources()[t.Name].GetConnectionDetails(), details); err != nil {
			return nil, nil, fmt.Errorf("cannot read connection details of resource %q: %w", t.Name, err)
		}

		r, missing, err := t.render(composite)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot render resource %q: %w", t.Name, err)
		}

		if missing != nil && observed == nil {
			warnings = append(warnings,
				fmt.Sprintf("not adding new composed resource %q to desired state because %v", t.Name, missing))
			continue
		}

		if r.Ready, err = t.readiness(observed); err != nil {
			return nil, nil, fmt.Errorf("cannot check readiness of resource %q: %w", t.Name, err)
		}

		desired[t.Name] = r
	}

	if len(details) > 0 {
		if err := addConnectionSecret(desired, composite, details); err != nil {
			return nil, nil, err
		}
	}

	return desired, warnings, nil
}

// details adds the connection details that an observed resource already has, in base64.
func (t resourceTemplate) details(observed map[string][]byte, to map[string]any) error {
	for _, c := range t.ConnectionDetails {
		if c.Type != "FromConnectionSecretKey" {
			return fmt.Errorf("cannot read them by %q", c.Type)
		}

		if v, ok := observed[c.Key]; ok {
			to[c.Name] = base64.StdEncoding.EncodeToString(v)
		}
	}

	return nil
}

// addConnectionSecret adds the connection Secret of a composite that has no connection details of its own.
func addConnectionSecret(desired map[string]*fnv1.Resource, composite *structpb.Struct, details map[string]any) error {
	xr := fieldpath.Pave(composite.AsMap())
	if _, err := xr.GetValue("spec.crossplane"); err != nil {
		return fmt.Errorf("cannot write connection details of a legacy composite: %w", err)
	}

	name, err := xr.GetString("metadata.name")
	if err != nil {
		return err
	}

	meta := map[string]any{"name": name + "-connection"}
	if text, err := xr.GetString("metadata.namespace"); err == nil {
		meta["namespace"] = text
	}

	if ref, err := xr.GetStringObject("spec.writeConnectionSecretToRef"); err == nil {
		meta = map[string]any{"name": ref["name"]}
		if ref["namespace"] != "" {
			meta["namespace"] = ref["namespace"]
		}
	}

	s, err := structpb.NewStruct(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "connection.crossplane.io/v1alpha1",
		"data": details,
	})
	desired[name+"-connection-secret"] = &fnv1.Resource{Resource: s, Ready: fnv1.Ready_READY_TRUE}

	return err
}

// render a resource. The first error is about a required value that the composite lacks.
func (t resourceTemplate) render(composite *structpb.Struct) (r *fnv1.Resource, missing, err error) {
	from, to := fieldpath.Pave(composite.AsMap()), fieldpath.Pave(t.Base)

	for i, p := range t.Patches {
		value, err := from.GetValue(p.FromFieldPath)
		if fieldpath.IsNotFound(err) {
			if p.Policy.FromFieldPath == "Required" {
				missing = fmt.Errorf("\"FromCompositeFieldPath\" patch at index %d has 'policy.fromFieldPath: "+
					"Required': %w", i, err)
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

	status := observed.GetFields()["status"].GetStructValue()
	for _, c := range status.GetFields()["conditions"].GetListValue().GetValues() {
		f := c.GetStructValue().GetFields()
		if f["type"].GetStringValue() == "Ready" && f["status"].GetStringValue() == "True" {
			return fnv1.Ready_READY_TRUE, nil
		}
	}

	return fnv1.Ready_READY_UNSPECIFIED, nil
}
