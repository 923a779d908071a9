package pipeline

import (
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
)

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
