package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Sequencer replaces function-sequencer. It removes a resource that is not observed from the desired state until the
// resources before it in its sequence are ready. Names are literal.
type Sequencer struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// RunFunction removes the resources that must wait.
func (Sequencer) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	in := struct {
		Rules []struct {
			Sequence []string `json:"sequence"`
		} `json:"rules"`
	}{}

	input, err := req.GetInput().MarshalJSON()
	if err == nil {
		err = json.Unmarshal(input, &in)
	}

	if err != nil {
		return nil, fmt.Errorf("cannot read input: %w", err)
	}

	desired, observed := req.GetDesired(), req.GetObserved().GetResources()

	for _, rule := range in.Rules {
		waits := false

		for _, name := range rule.Sequence {
			ready := desired.GetResources()[name].GetReady() == fnv1.Ready_READY_TRUE
			if _, exists := observed[name]; waits && !exists {
				delete(desired.GetResources(), name)
			}

			waits = waits || !ready
		}
	}

	return &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(time.Minute)},
		Desired: desired, Context: req.GetContext(),
	}, nil
}
