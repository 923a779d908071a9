package standin

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"text/template"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// The annotations of a template that say what becomes of its object.
const (
	nameAnnotation  = "gotemplating.fn.crossplane.io/composition-resource-name"
	readyAnnotation = "gotemplating.fn.crossplane.io/ready"
)

// GoTemplating replaces function-go-templating v0.12. It composes the objects of an inline template,
// which may call b64enc and b64dec.
type GoTemplating struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// RunFunction adds the objects of the template to the desired ones.
func (GoTemplating) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(time.Minute)},
		Desired: &fnv1.State{Composite: req.GetDesired().GetComposite(), Resources: map[string]*fnv1.Resource{}},
		Context: req.GetContext(),
	}

	maps.Copy(rsp.GetDesired().GetResources(), req.GetDesired().GetResources())

	text, err := renderTemplate(req)
	if err == nil {
		err = addObjects(rsp.GetDesired().GetResources(), text)
	}

	if err != nil {
		rsp.Desired = req.GetDesired()
		rsp.Results = []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_FATAL, Message: err.Error()}}
	}

	return rsp, nil
}

// renderTemplate executes the template with the request in the form of JSON.
func renderTemplate(req *fnv1.RunFunctionRequest) (*bytes.Buffer, error) {
	in := struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Source     string `json:"source"`
		Inline     struct {
			Template string `json:"template"`
		} `json:"inline"`
	}{}

	input, err := req.GetInput().MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("cannot read input: %w", err)
	}

	strict := json.NewDecoder(bytes.NewReader(input))
	strict.DisallowUnknownFields()

	if err := strict.Decode(&in); err != nil {
		return nil, fmt.Errorf("cannot do what the input wants: %w", err)
	}

	t, err := template.New("manifests").Funcs(template.FuncMap{"b64enc": encode,
		"b64dec": decode}).Parse(in.Inline.Template)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the template: %w", err)
	}

	b, err := protojson.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the request: %w", err)
	}

	values := map[string]any{}
	if err := json.Unmarshal(b, &values); err != nil {
		return nil, fmt.Errorf("cannot decode the request: %w", err)
	}

	text := &bytes.Buffer{}

	return text, t.Execute(text, values)
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func decode(s string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(s)

	return string(b), err
}

// addObjects adds the objects of YAML documents.
func addObjects(desired map[string]*fnv1.Resource, text io.Reader) error {
	for documents := yaml.NewYAMLOrJSONDecoder(text, 1024); ; {
		o := &unstructured.Unstructured{}

		err := documents.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return fmt.Errorf("cannot decode a manifest: %w", err)
		}

		if len(o.Object) == 0 {
			continue
		}

		annotations := o.GetAnnotations()
		name := annotations[nameAnnotation]
		ready := fnv1.Ready_value["READY_"+strings.ToUpper(annotations[readyAnnotation])]

		if name == "" {
			return fmt.Errorf("%q template is missing required %q annotation", o.GetKind(), nameAnnotation)
		}

		delete(annotations, nameAnnotation)
		delete(annotations, readyAnnotation)
		o.SetAnnotations(annotations)

		s, err := structpb.NewStruct(o.Object)
		if err != nil {
			return fmt.Errorf("cannot compose %q: %w", name, err)
		}

		desired[name] = &fnv1.Resource{Resource: s, Ready: fnv1.Ready(ready)}
	}
}
