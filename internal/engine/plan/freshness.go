package plan

import (
	"time"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// How long Crossplane waits before it calls again if nothing changes and the input does not set a time.
const (
	// WatchTTL is for an input whose objects Crossplane watches. A call then only guards against an event that was
	// lost.
	WatchTTL = 10 * time.Minute

	// PollTTL is for an input with something that Crossplane does not watch.
	PollTTL = time.Minute
)

// Freshness says how changes of what an input reads are noticed.
type Freshness struct {
	Poll bool           // the input does not rely on watches
	TTL  *time.Duration // that the input sets; nil for the default

	// Crossplane does not watch the context of the pipeline, and does not say which objects an earlier step read for the
	// environment.
	Context, Environment bool // they are read
}

func (c *compiler) freshness(in *v1beta1.Exports) Freshness {
	out := Freshness{
		Poll:    in.Freshness == v1beta1.FreshnessPoll,
		Context: c.outputs.context,
		Environment: c.outputs.environment || in.Environment != nil ||
			in.FromComposite != nil && in.FromComposite.Allow.Environment,
	}
	if in.TTL != nil {
		out.TTL = &in.TTL.Duration
	}
	return out
}

// Watches says what Crossplane watches for one request.
type Watches struct {
	Objects     bool // the composite, the composed resources, and all required objects
	Environment bool // no earlier step of the pipeline set the environment
}

// After returns how long Crossplane waits before it calls again if nothing changes. 0 means that it does
// not call again.
func (f Freshness) After(w Watches) time.Duration {
	switch {
	case f.TTL != nil:
		return *f.TTL
	case f.Poll || f.Context || f.Environment && !w.Environment || !w.Objects:
		return PollTTL
	}
	return WatchTTL
}
