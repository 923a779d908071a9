package function_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// In a simulation, one Secret moves: an earlier step composes it, then an export, then an export of another name, or
// the step again, in any order. An export that wants it takes it over.

const (
	movedKey     = "v1|Secret|team-a|shop-moved"
	movedFormer  = "former-secret" // its composition resource name in the earlier step
	formerPrefix = "former-"       // of the keys that only the earlier step writes
)

// A movedInput says who composes the Secret that moves.
type movedInput struct {
	by    string // an export of this name, or the earlier step; empty for neither
	named bool   // the name of the object comes from the composite
	prune bool
}

const earlierStep = "earlier step"

func (in movedInput) isExport() bool { return in.by != "" && in.by != earlierStep }

// exportName returns the name of an export in the input.
func (in movedInput) exportName(name string) string {
	if name == "moved" {
		return in.by
	}
	return name
}

// fields returns the fields of an export that only the Secret that moves has.
func (in movedInput) fields(name string) string {
	if name != "moved" {
		return ""
	}
	metadata := "name: shop-moved"
	if in.named {
		metadata = "nameExpression: composite.spec.movedName"
	}
	return fmt.Sprintf("\n  metadata: {%s}\n  prune: %t", metadata, in.prune)
}

// move changes who composes the Secret, or its name in the composite.
func (s *simulation) move() {
	if s.percent(25) {
		s.version(func(v *simulatedVersion) {
			v.xr = proto.Clone(v.xr).(*structpb.Struct)
			spec := v.xr.GetFields()["spec"].GetStructValue().GetFields()
			if _, known := spec["movedName"]; known {
				delete(spec, "movedName")
				s.logf("the name of the moved Secret is unknown")
				return
			}
			functiontest.Set(v.xr, "shop-moved", "spec", "movedName")
			s.logf("the name of the moved Secret is known")
		})
		return
	}
	s.configure(func(in *simulatedInput) {
		in.moved = movedInput{simPick(s, "", earlierStep, earlierStep, "four", "four", "five"), s.percent(40), s.percent(20)}
	})
}

// composeEarlier sets what the earlier step composes.
func (s *simulation) composeEarlier() {
	if s.Earlier = nil; s.input.moved.by != earlierStep {
		return
	}
	s.Earlier = &fnv1.State{Resources: map[string]*fnv1.Resource{movedFormer: {
		Ready: fnv1.Ready_READY_TRUE, Resource: functiontest.Parse(s.T, `{apiVersion: v1, kind: Secret, type: example.org/former,
metadata: {name: shop-moved, namespace: team-a}, data: {static: eA==, former-a: YQ==, former-b: Yg==}}`),
	}}}
}

func dataOf(o *structpb.Struct) map[string]*structpb.Value {
	return o.GetFields()["data"].GetStructValue().GetFields()
}

// checkMoved: an export desires the type that the object has, and without prune it takes no key away.
func (s *simulation) checkMoved(key string, was, o *structpb.Struct) {
	if key != movedKey || was == nil {
		return
	}
	if before, after := was.GetFields()["type"].GetStringValue(), o.GetFields()["type"].GetStringValue(); before != after {
		if s.input.moved.isExport() {
			s.fail("type", "%s has the type %s, and %s is desired", key, before, after)
		}
		return
	}
	if !s.input.moved.isExport() || s.input.moved.prune {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(dataOf(was))) {
		if _, ok := dataOf(o)[k]; !ok && strings.HasPrefix(k, formerPrefix) {
			s.fail("keys", "%s loses the key %s", key, k)
		}
	}
}

// checkMovedDrop: the object is not deleted while an export wants it.
func (s *simulation) checkMovedDrop(name string) {
	if s.input.moved.isExport() {
		s.fail("drop", "%s is deleted, and the export %s wants it", name, s.input.moved.by)
	}
	s.letGo(s.Stored[movedKey])
}

// checkMovedListed: the composite lists an object with another composition resource name as long as an export wants it.
func (s *simulation) checkMovedListed(listed []string) {
	composed := functiontest.Meta(s.Stored[movedKey], "annotations", functiontest.ResourceNameAnnotation)
	known := s.input.moved.isExport() && !s.input.moved.named // otherwise the name may be unknown
	if known && composed != "" && composed != s.input.moved.by && slices.Contains(s.latest().listed, movedKey) && !slices.Contains(listed, movedKey) {
		s.fail("forgotten", "the export %s wants %s, which is no longer listed", s.input.moved.by, movedKey)
	}
}

// keepsMoved reports whether the object keeps a value that the former export wrote and the export does not.
func (s *simulation) keepsMoved(name, g, key string) bool {
	kept := strings.Split(annotation(s.Stored[movedKey], "kept-keys"), ",")
	return name == "moved" && !s.input.has(g) && slices.Contains(kept, key)
}

// checkMovedEnd: if the export prunes, the object has no keys of the earlier step.
func (s *simulation) checkMovedEnd() {
	o := s.Stored[movedKey]
	if listed := slices.Contains(s.latest().listed, movedKey); listed != (s.input.moved.by != "") || listed && o == nil {
		s.fail("end", "%s is listed: %t, and it is composed by %q", movedKey, listed, s.input.moved.by)
	}
	if !s.input.moved.prune || !s.input.moved.isExport() {
		return
	}
	for k := range dataOf(o) {
		if strings.HasPrefix(k, formerPrefix) {
			s.fail("end", "%s still has the key %s", movedKey, k)
		}
	}
}
