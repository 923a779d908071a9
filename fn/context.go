package main

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A leaving is what the step leaves in the context, over what it found there.
type leaving struct {
	found  wire.Struct
	fields map[string]*structpb.Value
}

// field of the context.
func (l *leaving) field(name string, v *structpb.Value) {
	if l.fields == nil {
		l.fields = map[string]*structpb.Value{}
	}
	l.fields[name] = v
}

// member of a field of the context, beside those that it has.
func (l *leaving) member(name, member string, v *structpb.Value) {
	if own, ok := l.fields[name]; ok {
		own.GetStructValue().Fields[member] = v // which is a copy already
		return
	}
	was := l.found.Get(name).Proto()
	l.field(name, structpb.NewStructValue(withField(was.GetStructValue(), []string{member}, v)))
}

// context with the fields that were left, nil if none were.
func (l *leaving) context() *structpb.Struct {
	if l.fields == nil {
		return nil
	}
	return &structpb.Struct{Fields: l.fields}
}

// exportsKey is where a step leaves in the context what it reports, for later
// ones that run this function: there is one condition for all of them, and the
// last one sets it. It holds states and messages by input, and no values. A step
// finds its own there, too, when Crossplane calls it again with what it requires.
const exportsKey = "export.fn.crossplane.io/exports"

// A reported is what a step has to say.
type reported struct {
	state    plan.State
	messages []string
}

// reportedBefore is what the steps of all other inputs reported.
func reportedBefore(context wire.Struct, own string) reported {
	var all reported
	for id, v := range context.Get(exportsKey).Struct().All() {
		if id == own {
			continue
		}
		step := v.Struct()
		all.state = max(all.state, min(plan.State(step.Get("state").Number()), plan.Conflict))
		for _, m := range step.Get("messages").List().All() {
			all.messages = append(all.messages, m.Text())
		}
	}
	return all
}

// leave what an input reports in the context, in place of what it did before.
func (r reported) leave(left *leaving, own string) {
	if r.state == plan.Available && len(r.messages) == 0 && !left.found.At(exportsKey, own).Exists() {
		return
	}
	messages := &structpb.ListValue{}
	for _, m := range r.messages {
		messages.Values = append(messages.Values, structpb.NewStringValue(m))
	}
	left.member(exportsKey, own, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"state":    structpb.NewNumberValue(float64(r.state)),
		"messages": structpb.NewListValue(messages),
	}}))
}
