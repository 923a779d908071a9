package function

import (
	"cmp"
	"encoding/hex"
	"maps"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A pipelineContext is the context of the request, and the fields that the step changes.
type pipelineContext struct {
	found  wire.Struct
	fields map[string]*structpb.Value
}

func (c *pipelineContext) set(name string, v *structpb.Value) {
	c.fields = plan.With(c.fields, name, v)
}

// setMember sets a member of a field, and keeps its other members.
func (c *pipelineContext) setMember(name, member string, v *structpb.Value) {
	if own, ok := c.fields[name]; ok {
		own.GetStructValue().Fields[member] = v // a copy already
		return
	}
	was := c.found.Get(name).Proto()
	c.set(name, structpb.NewStructValue(withField(was.GetStructValue(), []string{member}, v)))
}

// changes returns the fields that were set, or nil.
func (c *pipelineContext) changes() *structpb.Struct {
	if c.fields == nil {
		return nil
	}
	return &structpb.Struct{Fields: c.fields}
}

// exportsKey is the context key with the reports of earlier steps of this function, by input: states and
// messages, but no values. There is one condition for all of them, and the last step sets it. A step
// also finds its own report there when Crossplane calls it again with its requirements.
const exportsKey = "export.fn.crossplane.io/exports"

// A report is the state of a step's exports, and its messages.
type report struct {
	state    reconcile.State
	messages []string
	see      string   // a command that shows more about the first message that has one
	possible []string // resources that the step keeps only because it may take them over
	watches  bool     // Crossplane watches required objects
	again    bool     // Crossplane calls again, and passes the context of this call
}

// reportBefore returns the reports of all other inputs.
func reportBefore(context wire.Struct, own string) report {
	var all report
	for id, v := range context.Get(exportsKey).Struct().All() {
		if id == own {
			continue
		}
		step := v.Struct()
		all.state = max(all.state, min(reconcile.State(step.Get("state").Number()), reconcile.Conflict))
		for _, m := range step.Get("messages").List().All() {
			all.messages = append(all.messages, m.Text())
		}
		for _, name := range step.Get("possible").List().All() {
			all.possible = append(all.possible, name.Text())
		}
		all.see = cmp.Or(all.see, step.Get("see").Text())
	}
	return all
}

// save saves the report in the context, in place of the input's report before.
func (r *report) save(c *pipelineContext, own string) {
	if !r.again && r.state == reconcile.Available && len(r.messages) == 0 && !c.found.At(exportsKey, own).Exists() {
		return
	}
	fields := map[string]*structpb.Value{
		"state":    structpb.NewNumberValue(float64(r.state)),
		"messages": list(r.messages),
	}
	if r.see != "" {
		fields["see"] = structpb.NewStringValue(r.see)
	}
	if r.watches {
		fields[watchesMember] = structpb.NewBoolValue(true)
	}
	if len(r.possible) > 0 {
		fields["possible"] = list(r.possible)
	}
	c.setMember(exportsKey, own, structpb.NewStructValue(&structpb.Struct{Fields: fields}))
}

func list(texts []string) *structpb.Value {
	out := &structpb.ListValue{}
	for _, text := range texts {
		out.Values = append(out.Values, structpb.NewStringValue(text))
	}
	return structpb.NewListValue(out)
}

// revisionsKey is the context key with the revision of each export's observed object, by export. An export with a list
// has a map by item.
const revisionsKey = "export.fn.crossplane.io/revisions"

// revisionsElsewhere returns the revisions of exports that a plan does not have.
func revisionsElsewhere(context wire.Struct, p *plan.Plan) map[string]wire.Value {
	out := maps.Collect(context.Get(revisionsKey).Struct().All())
	for _, e := range p.Exports {
		delete(out, e.Name)
	}
	return out
}

// saveRevisions saves the revisions in the context for later steps.
func saveRevisions(c *pipelineContext, all map[string]observation.Revision) {
	for name, r := range all {
		v := structpb.NewNumberValue(float64(r.Number))
		if r.Items != nil {
			items := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(r.Items))}
			for key, n := range r.Items {
				items.Fields[key] = structpb.NewNumberValue(float64(n))
			}
			v = structpb.NewStructValue(items)
		}
		c.setMember(revisionsKey, name, v)
	}
}

// generatorsKey is the context key with the state of the generators of earlier steps: names, hashes and
// times, but no values.
const generatorsKey = "export.fn.crossplane.io/generator-state"

// inputMember is the member of a generator's state with the ID of its input. A generator that left the
// input has none.
const inputMember = "input"

// generatorsElsewhere returns the generators of other inputs. A step also finds its own there when
// Crossplane calls it again with its requirements.
func generatorsElsewhere(context wire.Struct, own string) map[string]wire.Value {
	var out map[string]wire.Value
	for name, state := range context.Get(generatorsKey).Struct().All() {
		if id := state.Struct().Get(inputMember).Text(); id != "" && id != own {
			out = plan.With(out, name, state)
		}
	}
	return out
}

// environmentKey is the context key where steps find and save the merged environment.
const environmentKey = "apiextensions.crossplane.io/environment"

// environmentsKey is the context key with, by input, the environment that a step found, and a hash of the
// environment that it made. Crossplane passes a step its own context when it calls it again with its
// requirements, and the step must not change the environment twice.
const environmentsKey = "export.fn.crossplane.io/environments"

// ownKeys are the context keys of this function. A step does not see what it has saved itself: data with the revision
// of its own export would be a new revision in each reconcile.
var ownKeys = []string{generatorsKey, exportsKey, environmentsKey, revisionsKey} //nolint:gochecknoglobals // a list

// contextBefore returns the context of the first call of the step with a plan: with its environment, and without the
// fields of this function, except for the state of the generators and the revisions of the exports of other steps.
func contextBefore(context wire.Struct, p *plan.Plan) wire.Struct {
	if !slices.ContainsFunc(ownKeys, func(key string) bool { return context.Get(key).Exists() }) {
		return context
	}
	fields := maps.Collect(context.All())
	for _, key := range ownKeys {
		delete(fields, key)
	}
	if others := generatorsElsewhere(context, p.ID()); len(others) > 0 {
		fields[generatorsKey] = wire.OfStruct(wire.Compose(others))
	}
	if others := revisionsElsewhere(context, p); len(others) > 0 {
		fields[revisionsKey] = wire.OfStruct(wire.Compose(others))
	}
	own := context.At(environmentsKey, p.ID()).Struct()
	if own.Get("made").Is(digestOf(context.Get(environmentKey))) { // otherwise a later step has changed it
		delete(fields, environmentKey)
		if found := own.Get("found"); found.Exists() {
			fields[environmentKey] = found
		}
	}
	return wire.Compose(fields)
}

// saveEnvironment saves the environment for later steps, if the input makes one. A step without
// requirements is called once, and saves nothing for itself. Of two steps with the same input and
// requirements, the second one reads the data of the first: a request does not distinguish them.
func saveEnvironment(c *pipelineContext, result *reconcile.Result, p *plan.Plan) {
	if result.Environment == nil {
		return
	}
	made := structpb.NewStructValue(result.Environment)
	if len(result.Requirements) > 0 {
		own := map[string]*structpb.Value{"made": structpb.NewStringValue(digestOf(wire.OfValue(made)))}
		if found := contextBefore(c.found, p).Get(environmentKey); found.Exists() {
			own["found"] = found.Proto()
		}
		c.setMember(environmentsKey, p.ID(), structpb.NewStructValue(&structpb.Struct{Fields: own}))
	}
	c.set(environmentKey, made)
}

func digestOf(environment wire.Value) string {
	digest, _ := plan.DigestOf(environment.Struct())
	return hex.EncodeToString(digest[:])
}
