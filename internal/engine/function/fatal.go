package function

import (
	"errors"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/metrics"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// fatal ends the call with an error. A fatal result stops the whole pipeline: Crossplane applies nothing of any step,
// and calls again only after a back-off. These are all the errors that have one. Whatever else is missing, broken or
// read in two versions holds only what depends on it.
func (f *Function) fatal(meta *fnv1.ResponseMeta, req *wire.Request, err error) *fnv1.RunFunctionResponse {
	var fatal *outcome.Fatal
	var wrong *diagnostic.Diagnostic
	meta.Ttl = durationpb.New(plan.PollTTL)
	rsp := &fnv1.RunFunctionResponse{Meta: meta}
	switch {
	case errors.As(err, &fatal):
		if fatal.State == outcome.Waiting {
			meta.Ttl = nil // Crossplane must not repeat this answer from a cache
		}
		return f.end(rsp, fatal.State.String(), fatal.Message, "")
	case errors.As(err, &wrong):
		// The mistake is in the Composition, or in what it requires: what the author meant is not known. This includes
		// a required EnvironmentConfig that is missing, as in function-environment-configs: all steps may read it.
		text := "invalid input: " + message(strings.Split(err.Error(), "\n")) // joined errors
		see := evaluate.SeeComposition(req.Observed.Composite.Object)
		return f.end(rsp, metrics.InvalidInput, text, see)
	}
	panic("an error that is not fatal has no result") // the server answers with an error that names no value
}

// end sets the fatal result and the condition. The argument see is a command that shows more, or empty.
func (f *Function) end(rsp *fnv1.RunFunctionResponse, reason, text, see string) *fnv1.RunFunctionResponse {
	addResult(rsp, fnv1.Severity_SEVERITY_FATAL, fnv1.Target_TARGET_COMPOSITE, text)
	addCondition(rsp, fnv1.Status_STATUS_CONDITION_FALSE, reason, withCommand(text, see))
	f.Metrics.Reconcile(reason)
	f.Log.Debug("Ran function", "tag", rsp.GetMeta().GetTag(), "reason", reason)
	return rsp
}
