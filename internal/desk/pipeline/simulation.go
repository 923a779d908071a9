package pipeline

import (
	"context"
	"crypto/sha256"
	"io"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
)

// An Engine returns this function with a clock and a source of randomness. If they are nil, they are those of the
// system. Each result of a call is passed to seen, which may be nil, before the call returns.
type Engine func(now func() time.Time, entropy io.Reader, seen func(*reconcile.Result)) world.Function

// NewEngine returns an engine. All of its functions share the compiled inputs.
func NewEngine() (Engine, error) {
	shared, err := function.New(logging.NewNopLogger(), nil)
	if err != nil {
		return nil, err //nolint:wrapcheck // of this program
	}
	return func(now func() time.Time, entropy io.Reader, seen func(*reconcile.Result)) world.Function {
		f := &function.Function{Plans: shared.Plans, Log: shared.Log, Now: shared.Now, Entropy: shared.Entropy, Seen: seen}
		if now != nil {
			f.Now, f.Entropy = now, func() io.Reader { return entropy }
		}
		return f.RunFunction
	}, nil
}

// Seeded returns a source of randomness whose bytes depend only on a seed.
func Seeded(seed [32]byte) io.Reader { return credential.Seeded{Reader: rand.NewChaCha8(seed)} }

// A Simulation has a pipeline with this function.
type Simulation struct {
	*world.World

	Results  map[int]*reconcile.Result         // the last ones, by the index of the step
	Required map[string]*fnv1.ResourceSelector // by any call

	engine  Engine
	seed    [32]byte
	entropy map[string]io.Reader // of each step
}

// Simulate returns a simulation with the clock of w, and with randomness that goes on from a seed.
func (e Engine) Simulate(w *world.World, seed [32]byte) *Simulation {
	return &Simulation{World: w, engine: e, seed: seed, entropy: map[string]io.Reader{}}
}

// Compose sets the pipeline of the simulation.
func (s *Simulation) Compose(p *Pipeline, o Options) {
	s.Results, s.Required = map[int]*reconcile.Result{}, map[string]*fnv1.ResourceSelector{}
	o.Call = func(step int) world.Function {
		name := p.Steps[step].Name
		if s.entropy[name] == nil {
			s.entropy[name] = Seeded(sha256.Sum256(append(s.seed[:], name...)))
		}
		seen := func(r *reconcile.Result) {
			if s.Results[step] = r; o.Seen != nil {
				o.Seen(r)
			}
		}
		call := s.engine(func() time.Time { return s.Now }, s.entropy[name], seen)
		return func(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			delete(s.Results, step) // a fatal result has none
			rsp, err := call(ctx, req)
			maps.Copy(s.Required, rsp.GetRequirements().GetResources())
			return rsp, err
		}
	}
	p.Play(s.World, o)
}

// Due returns when the function acts although nothing has changed, or zero. In between, it would see and do the same.
func (s *Simulation) Due() (out time.Time) {
	for _, result := range s.Results {
		if d := result.Due; out.IsZero() || !d.IsZero() && d.Before(out) {
			out = d
		}
	}
	return out
}

// A Setup is what files say about one composite.
type Setup struct {
	XR         *structpb.Struct  // with a UID
	Details    map[string][]byte // connection details of the composite, if it has the v1 style
	Pipeline   *Pipeline
	Observed   []Observed
	Connection []*structpb.Struct // connection Secrets of Observed
	Required   []*structpb.Struct // other objects
	Context    *structpb.Struct
	Schemas    func(*fnv1.SchemaSelector) *fnv1.Schema
}

// Observed is a composed resource that exists.
type Observed struct {
	Name    string
	Object  *structpb.Struct
	Details map[string][]byte
}

// world returns a simulation without objects.
func (s *Setup) world() *world.World {
	w := world.New(proto.CloneOf(s.XR))
	w.Meta, w.Context, w.Schemas = &fnv1.RequestMeta{Capabilities: world.Capabilities()}, s.Context, s.Schemas
	return w
}

// Files returns a simulation in which Crossplane observes the objects as the files have them.
func (s *Setup) Files() *world.World {
	w := s.world()
	w.Details[world.KeyOf(w.XR)] = s.Details
	w.Stored[world.KeyOf(w.XR)] = w.XR
	for _, o := range s.Observed {
		key := world.KeyOf(o.Object)
		w.Stored[key], w.Details[key], w.Listed = o.Object, o.Details, append(w.Listed, key)
	}
	for _, all := range [][]*structpb.Struct{s.Connection, s.Required} {
		for _, o := range all {
			w.Stored[world.KeyOf(o)] = o
		}
	}
	return w
}

// Cluster returns a simulation at a time, in which Crossplane has composed the observed resources before. Their
// providers write the connection Secrets.
func (s *Setup) Cluster(now time.Time) *world.World {
	w := s.world()
	w.Now = now
	for _, o := range s.Required {
		w.Put(o)
	}
	for _, o := range s.Observed {
		w.Adopt(o.Name, o.Object)
		if o.Details != nil {
			w.Details[w.Listed[len(w.Listed)-1]] = o.Details
		}
	}
	return w
}
