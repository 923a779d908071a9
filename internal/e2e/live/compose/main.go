// Command compose composes the manifests of its input, with the composite's name and namespace for
// $(name) and $(namespace), and the name of the generation in use for $(latest.<generator>). Without
// that generation it leaves the resource out, as a template with an if does. With the flag --as it
// replaces a function of another project. It is only for tests.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/crossplane/function-sdk-go"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/e2e/standin"
)

// An input is what to compose.
type input struct {
	Resources []struct {
		Name     string         `json:"name"`
		Manifest map[string]any `json:"manifest"`
	} `json:"resources"`
}

type composer struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	ttl time.Duration // of responses; 0 for none
}

// RunFunction adds the resources of the input to the desired ones.
func (c composer) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(c.ttl)},
		Desired: &fnv1.State{Composite: req.GetDesired().GetComposite(), Resources: map[string]*fnv1.Resource{}},
		Context: req.GetContext(),
	}

	maps.Copy(rsp.GetDesired().GetResources(), req.GetDesired().GetResources())

	meta := req.GetObserved().GetComposite().GetResource().GetFields()["metadata"].GetStructValue().GetFields()
	replace := []string{"$(name)", meta["name"].GetStringValue(), "$(namespace)", meta["namespace"].GetStringValue()}

	states := req.GetContext().GetFields()["export.fn.crossplane.io/generator-state"]
	for name, state := range states.GetStructValue().GetFields() {
		latest := state.GetStructValue().GetFields()["latest"].GetStructValue().GetFields()["name"].GetStringValue()
		if latest != "" {
			replace = append(replace, "$(latest."+name+")", latest)
		}
	}

	names := strings.NewReplacer(replace...)

	b, err := req.GetInput().MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("cannot read input: %w", err)
	}

	in := input{}
	if err := json.Unmarshal([]byte(names.Replace(string(b))), &in); err != nil {
		return nil, fmt.Errorf("cannot read input: %w", err)
	}

	for _, r := range in.Resources {
		if refersToNothing(r.Manifest) {
			continue
		}

		manifest, err := structpb.NewStruct(r.Manifest)
		if err != nil {
			return nil, fmt.Errorf("cannot compose %q: %w", r.Name, err)
		}

		rsp.Desired.Resources[r.Name] = &fnv1.Resource{Resource: manifest,
			Ready: ready(req.GetObserved().GetResources()[r.Name].GetResource())}
	}

	return rsp, nil
}

// refersToNothing reports whether a manifest refers to a generation that there is not.
func refersToNothing(manifest map[string]any) bool {
	b, err := json.Marshal(manifest)
	return err != nil || strings.Contains(string(b), "$(latest.")
}

// ready if the condition Ready is true.
func ready(observed *structpb.Struct) fnv1.Ready {
	status := observed.GetFields()["status"].GetStructValue()
	for _, c := range status.GetFields()["conditions"].GetListValue().GetValues() {
		f := c.GetStructValue().GetFields()
		if f["type"].GetStringValue() == "Ready" && f["status"].GetStringValue() == "True" {
			return fnv1.Ready_READY_TRUE
		}
	}

	return fnv1.Ready_READY_FALSE
}

// main takes the flags of every function.
func main() {
	f := flag.NewFlagSet("serve", flag.ExitOnError)
	f.Bool("debug", false, "has no effect")
	certs := f.String("tls-certs-dir", "", "folder of tls.crt, tls.key and ca.crt")
	address := f.String("address", "", "address to serve at")
	metrics := f.String("metrics-address", "", "address to serve metrics at")
	as := f.String("as", "function-compose", "function to replace")
	ttl := f.Duration("ttl", time.Minute, "TTL of the responses of function-compose")

	if len(os.Args) < 2 || f.Parse(os.Args[2:]) != nil {
		os.Exit(2)
	}

	runner := map[string]fnv1.FunctionRunnerServiceServer{
		"function-compose": composer{ttl: *ttl}, "function-patch-and-transform": standin.PatchAndTransform{},
		"function-go-templating": standin.GoTemplating{},
	}[*as]

	err := function.Serve(runner, function.Listen("tcp", *address), function.MTLSCertificates(*certs),
		function.WithMetricsServer(*metrics))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
