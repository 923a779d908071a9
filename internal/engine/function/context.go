package function

import (
	"cmp"
	"maps"

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

func (c *pipelineContext) set(name string, v *structpb.Value) { put(&c.fields, name, v) }

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

func (r *report) add(o reconcile.Outcome) {
	if o.Said() {
		r.messages = append(r.messages, clip(o.Message))
		r.see = cmp.Or(r.see, o.See)
	}
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
		all.see = cmp.Or(all.see, step.Get("see").Text())
	}
	return all
}

// possibleMember is the member of a report with the resources that the step keeps only because it may take them over.
const possibleMember = "possible"

// possibleBefore returns the resources that steps of other inputs keep only because they may take them over. If a
// later step has them, they are its own.
func possibleBefore(context wire.Struct, own string) map[string]bool {
	var out map[string]bool
	for id, v := range context.Get(exportsKey).Struct().All() {
		if id != own {
			for _, name := range v.Struct().Get(possibleMember).List().All() {
				put(&out, name.Text(), true)
			}
		}
	}
	return out
}

// save saves the report in the context, in place of the input's report before.
func (r *report) save(c *pipelineContext, own string) {
	if !r.again && r.state == reconcile.Available && len(r.messages) == 0 && !c.found.At(exportsKey, own).Exists() {
		return
	}
	messages := &structpb.ListValue{}
	for _, m := range r.messages {
		messages.Values = append(messages.Values, structpb.NewStringValue(m))
	}
	fields := map[string]*structpb.Value{
		"state":    structpb.NewNumberValue(float64(r.state)),
		"messages": structpb.NewListValue(messages),
	}
	if r.see != "" {
		fields["see"] = structpb.NewStringValue(r.see)
	}
	if r.watches {
		fields[watchesMember] = structpb.NewBoolValue(true)
	}
	if len(r.possible) > 0 {
		names := &structpb.ListValue{}
		for _, name := range r.possible {
			names.Values = append(names.Values, structpb.NewStringValue(name))
		}
		fields[possibleMember] = structpb.NewListValue(names)
	}
	c.setMember(exportsKey, own, structpb.NewStructValue(&structpb.Struct{Fields: fields}))
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
