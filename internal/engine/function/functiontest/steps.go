package functiontest

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
)

// Ready makes a resource of a generation ready, with connection details.
func (c *ControlPlane) Ready(name string, details map[string]string) {
	key := "iam.example.org/v1|AccessKey|team-a|" + name
	c.Stored[key].Fields["status"] = structpb.NewStructValue(Parse(c.T, `{conditions: [{type: Ready, status: "True"}]}`))
	c.Details[key] = map[string][]byte{}
	for k, v := range details {
		c.Details[key][k] = []byte(v)
	}
}

// AnnotationsOf returns the annotations of a stored generation.
func (c *ControlPlane) AnnotationsOf(kind, name string) map[string]*structpb.Value {
	metadata := c.Object(kind, name).GetFields()["metadata"].GetStructValue()
	return metadata.GetFields()["annotations"].GetStructValue().GetFields()
}

// StateOf returns what a generation's state says, by the names of the fields.
func StateOf(o *structpb.Struct) map[string]*structpb.Value {
	return annotationFields(o, "generator-state")["state"].GetStructValue().GetFields()
}

// RecordOf returns what an export recorded, by generator.
func RecordOf(o *structpb.Struct) map[string]*structpb.Value {
	return annotationFields(o, "export-state")["generators"].GetStructValue().GetFields()
}

func annotationFields(o *structpb.Struct, name string) map[string]*structpb.Value {
	out := &structpb.Struct{}
	if out.UnmarshalJSON([]byte(world.Meta(o, "annotations", Prefix+name))) != nil {
		return nil
	}
	return out.GetFields()
}

// Wants compares the stored objects and the condition.
func (c *ControlPlane) Wants(when, names, condition string) {
	c.T.Helper()
	if diff := cmp.Diff([]string{names, condition}, []string{c.Names(), c.Condition()}); diff != "" {
		c.T.Errorf("%s: -want, +got:\n%s", when, diff)
	}
}

// Settle reconciles until nothing changes.
func (c *ControlPlane) Settle() {
	c.T.Helper()
	for range 10 {
		before := maps.Clone(c.Stored)
		c.Reconcile()
		if maps.EqualFunc(before, c.Stored, func(a, b *structpb.Struct) bool { return proto.Equal(a, b) }) {
			return
		}
	}
	c.T.Fatal("it does not settle in 10 reconciles")
}

// Wait advances the time.
func (c *ControlPlane) Wait(d time.Duration) { c.Now = c.Now.Add(d) }

// TTL returns the TTL of the last response; 0 means none.
func (c *ControlPlane) TTL() time.Duration { return c.Response.GetMeta().GetTtl().AsDuration() }

// Annotate annotates the composite.
func (c *ControlPlane) Annotate(key, value string) {
	world.Set(c.XR, value, "metadata", "annotations", key)
}

// Object returns a stored object.
func (c *ControlPlane) Object(kind, name string) *structpb.Struct {
	for key, o := range c.Stored {
		if strings.Contains(key, "|"+kind+"|") && strings.HasSuffix(key, "|"+name) {
			return o
		}
	}
	return nil
}

// State returns the generators' state in the context for later steps.
func (c *ControlPlane) State() map[string]any {
	m := c.Response.GetContext().AsMap()["export.fn.crossplane.io/generator-state"]
	out, _ := m.(map[string]any)
	return out
}

// Provide does what the provider of a resource does.
func (c *ControlPlane) Provide(name, id, ready string) {
	key := "iam.example.org/v1|AccessKey|team-a|" + name
	c.Stored[key].Fields["status"] = structpb.NewStructValue(Parse(c.T,
		fmt.Sprintf("{atProvider: {id: %s}, conditions: [{type: Ready, status: %q}]}", id, ready)))
	c.Details[key] = map[string][]byte{"secret": []byte("secret-of-" + id)}
}

// FlaggedOf returns when the grace period of a generation began, as its state says, or an empty text.
func FlaggedOf(o *structpb.Struct) string {
	s := StateOf(o)
	if stage := s["stage"].GetStringValue(); stage == "pending" || stage == "current" {
		return ""
	}
	return s["since"].GetStringValue()
}
