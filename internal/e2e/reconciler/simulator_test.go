package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// A stage is a Crossplane with its API server: the program with Crossplane's reconciler, or the simulator of the
// function's tests. Both have the same users, and call the same function.
type stage interface {
	put(text string)                  // stores an object, or the composite
	own(name, uid string)             // sets the controller of a Secret, or removes it if there is no UID
	name(name, as string)             // edits the composition resource name of a Secret
	annotate(name, key, value string) // edits an annotation of a Secret as kubectl does. No value removes it
	collect()                         // ends deletions in the foreground
	restart()                         // starts Crossplane again
	pass(d time.Duration)             // moves the clock
	beLate(kind string)               // makes an informer late, or none
	reconcile(fails string)           // lets Crossplane reconcile, while some calls of the API server fail
	recorded() *recorder
	stored() []string // the names of all objects, and of those that the composite lists
}

// A scene is a reconcile, and what happens before it.
type scene struct {
	input  string // of the function from now on, or empty
	late   string // the kind whose informer has seen nothing since the last scene without it
	before func(s stage)

	answer func(rsp *fnv1.RunFunctionResponse) // changes the response of the function
	fails  string                              // the calls that fail: delete, list, or apply
}

// A recorder is a function that records the calls of Crossplane, without values.
type recorder struct {
	runner

	t      *testing.T
	input  *structpb.Struct
	answer func(rsp *fnv1.RunFunctionResponse)
	calls  []string
}

func (r *recorder) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	var observed, required []string
	for name, o := range req.GetObserved().GetResources() {
		observed = append(observed, name+" is "+nameAndState(o.GetResource()))
	}
	for name, found := range req.GetRequiredResources() {
		for _, o := range found.GetItems() {
			name += " is " + nameAndState(o.GetResource())
		}
		required = append(required, name)
	}
	slices.Sort(observed)
	slices.Sort(required)
	call := fmt.Sprintf("call: observed %q, required %q", observed, required)
	r.calls = append(r.calls, suffixes.ReplaceAllString(call, "-ID"))
	req.Input = r.input
	rsp, err := r.runner.RunFunction(ctx, req)
	if text := world.FatalOf(rsp); text != "" || err != nil {
		r.t.Errorf("a script is wrong: %s, %v", text, err)
	}
	if err != nil {
		return nil, err
	}
	if r.answer != nil {
		r.answer(rsp)
	}
	return rsp, err
}

// suffixes of names depend on the UIDs of objects, which the API server chooses.
var suffixes = regexp.MustCompile(`-[0-9a-f]{10}\b`)

// annotated is the text of a user's annotation.
const annotated = "of-a-user"

// annotationsIn returns which annotations of the function an object has, and which of them have the text of a user.
func annotationsIn(o *structpb.Struct) string {
	var out []string
	for key, v := range annotationsOf(o) {
		switch {
		case !strings.HasPrefix(key, functiontest.Prefix):
		case v.GetStringValue() == annotated:
			out = append(out, key+" "+annotated)
		default:
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return " " + strings.Join(out, ", ")
}

func nameAndState(o *structpb.Struct) string {
	if world.Meta(o, "deletionTimestamp") != "" {
		return world.Meta(o, "name") + " (deleted)"
	}
	return world.Meta(o, "name")
}

// perform plays scenes, and returns what happened in each of them. Crossplane deletes and applies in random order, so
// these calls are sorted.
func perform(t *testing.T, s stage, scenes []scene) (out [][]string) {
	r := s.recorded()
	for _, one := range scenes {
		if one.input != "" {
			r.input = functiontest.Parse(t, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+one.input)
		}
		s.beLate(one.late)
		if one.before != nil {
			one.before(s)
		}
		r.answer, r.calls = one.answer, nil
		s.reconcile(one.fails)
		s.pass(time.Second)
		verb := func(call string) string { return strings.SplitN(call, " ", 2)[0] }
		for i := 0; i < len(r.calls); {
			end := i
			for end < len(r.calls) && verb(r.calls[end]) == verb(r.calls[i]) {
				end++
			}
			if verb(r.calls[i]) != "call:" {
				slices.Sort(r.calls[i:end])
			}
			i = end
		}
		out = append(out, append(r.calls, s.stored()...))
	}
	return out
}

// A program is the stage with Crossplane's reconciler.
type program struct {
	*play

	recorder *recorder
	late     string
}

func newProgram(c *crossplane) *program {
	p := &program{}
	c.fault = func(f runner) runner {
		p.recorder = &recorder{runner: f, t: c.t}
		return p.recorder
	}
	p.play = newPlay(c, rand.New(rand.NewPCG(0, 0)))
	return p
}

func (p *program) recorded() *recorder  { return p.recorder }
func (p *program) put(text string)      { p.user(command{Op: "put", Object: p.object(text)}) }
func (p *program) collect()             { p.user(command{Op: "collect"}) }
func (p *program) restart()             { p.do(command{Op: "crash"}) }
func (p *program) pass(d time.Duration) { p.wait(d) }
func (p *program) beLate(kind string)   { p.late = kind }

func (p *program) own(name, uid string) {
	var owners any
	if uid != "" {
		other := map[string]any{"apiVersion": "v1", "kind": "Other", "name": "other", "uid": uid, "controller": true}
		owners = []any{other}
	}
	p.patch(p.objects["Secret/"+name], map[string]any{"metadata": map[string]any{"ownerReferences": owners}})
}

func (p *program) name(name, as string) {
	annotations := map[string]any{world.ResourceNameAnnotation: as}
	p.patch(p.objects["Secret/"+name], map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

func (p *program) annotate(name, key, value string) {
	annotations := map[string]any{key: value}
	if value == "" {
		annotations[key] = nil
	}
	p.patch(p.objects["Secret/"+name], map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

// failing are the calls of the API server that fail, by what a scene says.
var failing = map[string][]string{
	"delete": {"delete Secret", "delete ConfigMap"}, "list": {"apply Shop"},
	"apply": {"apply Secret", "apply ConfigMap"},
}

func (p *program) reconcile(fails string) {
	c := command{Op: "reconcile", Late: map[string]bool{p.late: p.late != "Secret"}} // it has no informer
	for _, call := range failing[fails] {
		c.Faults = append(c.Faults, fault{Call: call, Kind: "error"})
	}
	a := p.do(c)
	p.see(a.Events, false)
	requests := p.recorder.calls
	p.recorder.calls = nil
	for _, call := range a.Calls {
		line := ""
		switch {
		case call.Verb == "call":
			line, requests = requests[0], requests[1:]
		case call.Verb == "apply" && call.Object == "Shop/"+composite:
			line = wrote("list", "", call.Fault, call.Error)
		case call.Verb == "apply", call.Verb == "delete":
			line = wrote(call.Verb, call.Object, call.Fault, call.Error)
		default:
			continue
		}
		p.recorder.calls = append(p.recorder.calls, line)
	}
}

// wrote describes a call that changes something. If it was made to fail, it depends on the order which object this is.
func wrote(verb, object, fails, refused string) string {
	switch {
	case fails != "":
		return verb + " fails"
	case refused != "":
		return verb + " " + object + " is refused"
	}
	return strings.TrimSpace(verb + " " + object)
}

func (p *program) stored() (out []string) {
	for _, o := range p.objects {
		if kind := o.GetKind(); kind == "Secret" || kind == "ConfigMap" {
			s := &structpb.Struct{}
			if text, err := o.MarshalJSON(); err != nil || s.UnmarshalJSON(text) != nil {
				p.t.Fatal("cannot read an object")
			}
			out = append(out, "stored "+kind+"/"+nameAndState(s)+annotationsIn(s))
		}
	}
	slices.Sort(out)
	spec, _ := p.xr().Object["spec"].(map[string]any)
	own, _ := spec["crossplane"].(map[string]any)
	refs, _ := own["resourceRefs"].([]any)
	for _, v := range refs {
		ref, _ := v.(map[string]any)
		out = append(out, fmt.Sprintf("lists %s/%s", ref["kind"], ref["name"]))
	}
	return out
}

// A simulated is the stage with the simulator.
type simulated struct {
	*functiontest.ControlPlane

	recorder *recorder
	lateKind string
}

// A simulatedFunction is the client with which the simulator calls the function.
type simulatedFunction struct{ *recorder }

func (f simulatedFunction) RunFunction(
	ctx context.Context, req *fnv1.RunFunctionRequest, _ ...grpc.CallOption,
) (*fnv1.RunFunctionResponse, error) {
	return f.recorder.RunFunction(ctx, req)
}

func newSimulated(t *testing.T) *simulated {
	c := functiontest.NewControlPlane(t, "secrets: []")
	s := &simulated{ControlPlane: c, recorder: &recorder{runner: c.Fn, t: t}}
	c.Now, c.Foreground, c.Client = beginning, true, simulatedFunction{s.recorder}
	s.put(xrManifest)
	puts("Secret", "shop-account-source")(s)
	puts("ConfigMap", "shop-settings-source")(s)
	return s
}

func (s *simulated) recorded() *recorder  { return s.recorder }
func (s *simulated) collect()             { s.Collect() }
func (s *simulated) restart()             { s.Restart() }
func (s *simulated) pass(d time.Duration) { s.Now = s.Now.Add(d) }

func (s *simulated) beLate(kind string) {
	switch {
	case kind == "":
		s.CatchUp(s.lateKind)
	case kind != s.lateKind:
		s.BeLate(kind)
	}
	s.lateKind = kind
}

func (s *simulated) put(text string) {
	o := functiontest.Parse(s.T, text)
	if s.UIDs++; o.GetFields()["kind"].GetStringValue() == "Shop" {
		world.Set(o, "uid-of-the-composite", "metadata", "uid")
		s.XR = o
		return
	}
	world.Set(o, fmt.Sprintf("uid-%d", s.UIDs), "metadata", "uid")
	world.Set(o, s.Now.Format(time.RFC3339), "metadata", "creationTimestamp")
	s.Stored[world.KeyOf(o)] = o
}

func (s *simulated) own(name, uid string) {
	metadata := s.Stored["v1|Secret|team-a|"+name].GetFields()["metadata"].GetStructValue().GetFields()
	if delete(metadata, "ownerReferences"); uid != "" {
		other := functiontest.Parse(s.T, "{metadata: {uid: "+uid+"}}")
		metadata["ownerReferences"] = world.OwnedBy(other)
	}
}

func (s *simulated) name(name, as string) {
	world.Set(s.Stored["v1|Secret|team-a|"+name], as, "metadata", "annotations", world.ResourceNameAnnotation)
}

func (s *simulated) annotate(name, key, value string) {
	fields := map[string]any{key: nil} // an annotation without a value is removed
	if value != "" {
		fields[key] = value
	}
	s.Patch("v1|Secret|team-a|"+name, map[string]any{"metadata": map[string]any{"annotations": fields}})
}

func (s *simulated) reconcile(fails string) {
	calls := &s.recorder.calls
	objectOf := func(w world.Write) string {
		of := strings.Split(w.Key, "|")
		return of[1] + "/" + of[3]
	}
	s.Before = func(w world.Write) error {
		switch {
		case string(w.Verb) == fails:
			*calls = append(*calls, wrote(fails, "", "error", ""))
			return errors.New("connection refused")
		case w.Verb == world.Lists:
			*calls = append(*calls, "list")
		case w.Verb == world.Deletes:
			*calls = append(*calls, wrote("delete", objectOf(w), "", ""))
		}
		return nil
	}
	s.After = func(w world.Write, _ *structpb.Struct, err error) {
		refused := ""
		if err != nil {
			refused = err.Error()
		}
		*calls = append(*calls, wrote("apply", objectOf(w), "", refused))
	}
	s.Reconcile()
}

func (s *simulated) stored() (out []string) {
	for _, o := range s.Stored {
		out = append(out, "stored "+o.GetFields()["kind"].GetStringValue()+"/"+nameAndState(o)+annotationsIn(o))
	}
	slices.Sort(out)
	for _, key := range s.Listed {
		of := strings.Split(key, "|")
		out = append(out, fmt.Sprintf("lists %s/%s", of[1], of[3]))
	}
	return out
}
