package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A side is an end with its own objects.
type side struct {
	*End

	pipeline *Pipeline // nil if it is not known
	own      map[string]*structpb.Struct
	exports  map[string]reconcile.Object // by composition resource name
	states   map[string]reconcile.Object // the same ones by the name of the export
}

func newSide(e *End, p *Pipeline) *side {
	out := &side{e, p, map[string]*structpb.Struct{}, map[string]reconcile.Object{}, map[string]reconcile.Object{}}
	for _, key := range e.Listed {
		if o := e.Stored[key]; o != nil {
			out.own[key] = o
		}
	}
	for _, result := range e.Results {
		for _, o := range result.Objects {
			if o.Export != "" {
				out.exports[o.Name], out.states[o.Export] = o, o
			}
		}
	}
	return out
}

// A comparison finds the differences of two ends that began in the same state.
type comparison struct {
	state         *state.State
	labels        *exportstest.Labels
	first         *world.World // as it is now
	before, after *side
	composite     *state.Composite
	out           []Effect
}

func (d *comparison) add(e Effect) { d.out = append(d.out, e) }

// run returns the effects, except those that happen later.
func (d *comparison) run() []Effect {
	d.outcomes()
	if world.FatalOf(d.after.Response) != "" { // nothing is applied
		return d.out
	}
	d.objects()
	d.generations()
	if d.before.pipeline != nil {
		d.fields()
		d.reads()
	}
	return d.out
}

// objects compares the objects that are no generations.
func (d *comparison) objects() {
	var created, deleted []*structpb.Struct
	for _, key := range names(d.before.own, d.after.own) {
		o, was := d.after.own[key], d.before.own[key]
		switch {
		case pipeline.IsGeneration(o) || pipeline.IsGeneration(was):
		case o == nil && d.after.Stored[key] == nil && d.existed(key):
			deleted = append(deleted, was)
		case o == nil: // it stays, or was only composed in the rehearsal
		case was == nil && d.first.Stored[key] != nil: // the pipeline in use deletes it anyway
		case was != nil:
			d.takenOver(was, o)
			d.data(was, o)
		case d.state.Find(state.RefOf(o)) != nil:
			d.add(d.about(ObjectTakenOver, o, "it exists, and the composite does not list it yet"))
			d.data(d.state.Find(state.RefOf(o)).Struct(), o)
		default:
			created = append(created, o)
		}
	}
	d.renamed(created, deleted)
	d.connectionDetails()
}

// existed reports whether an object of the pipeline in use exists before the change, even if it could not be read.
func (d *comparison) existed(key string) bool {
	return d.first.Stored[key] != nil || d.before.unknown.own[state.RefOf(d.before.own[key])]
}

// about returns an effect on an object.
func (d *comparison) about(kind Kind, o *structpb.Struct, reason string) Effect {
	r := state.RefOf(o)
	out := Effect{Kind: kind, Object: &r, Reason: reason}
	out.Export = cmp.Or(d.after.exports[pipeline.NameOf(o)].Export, d.before.exports[pipeline.NameOf(o)].Export)
	if out.Export == "" && !pipeline.IsOurs(o) {
		other := fmt.Sprintf("composed resource %q of another step", pipeline.NameOf(o))
		out.Reason = strings.TrimPrefix(reason+"; "+other, "; ")
	}
	return out
}

// renamed adds objects that are created or deleted. An export that was renamed deletes one and creates another.
func (d *comparison) renamed(created, deleted []*structpb.Struct) {
	from := map[*structpb.Struct]*structpb.Struct{}
	for _, gone := range deleted {
		made := d.successor(gone, created)
		if made == nil || from[made] != nil {
			d.add(d.about(ObjectDeleted, gone, "no step composes it anymore"))
			continue
		}
		from[made] = gone
		d.add(d.about(ObjectDeleted, gone, fmt.Sprintf("its export was renamed to %q: "+
			"set metadata.name to %s to keep the object", pipeline.NameOf(made), world.Meta(gone, "name"))))
	}
	for _, o := range created {
		if gone := from[o]; gone != nil {
			d.add(d.about(ObjectRenamed, o, fmt.Sprintf("it replaces %s, which is deleted", state.RefOf(gone))))
			continue
		}
		e := d.about(ObjectCreated, o, "")
		e.Keys = plan.SortedKeys(pipeline.DataOf(o))
		d.add(e)
	}
}

// successor returns the only object that has the kind and the keys of an object that is deleted, or nil. Their exports
// are in one pipeline each.
func (d *comparison) successor(gone *structpb.Struct, created []*structpb.Struct) *structpb.Struct {
	only := func(x, y *side, o *structpb.Struct) bool { // whether only one side has the export
		return x.exports[pipeline.NameOf(o)].Export != "" && y.exports[pipeline.NameOf(o)].Export == ""
	}
	keys := plan.SortedKeys(pipeline.DataOf(gone))
	out := slices.DeleteFunc(slices.Clone(created), func(o *structpb.Struct) bool {
		return !only(d.before, d.after, gone) || !only(d.after, d.before, o) ||
			state.RefOf(o).Kind != state.RefOf(gone).Kind || !slices.Equal(plan.SortedKeys(pipeline.DataOf(o)), keys)
	})
	if len(out) != 1 {
		return nil
	}
	return out[0]
}

// takenOver adds that an export has the object of another step, or of an export with another name, or the reverse. An
// export that is held does not take over: its object still has the record of the former one.
func (d *comparison) takenOver(was, is *structpb.Struct) {
	exportOf := func(o *structpb.Struct) string {
		record, _ := seal.ReadRecord(wire.Of(o))
		return cmp.Or(record.Export, pipeline.NameOf(o))
	}
	_, had := d.before.exports[pipeline.NameOf(was)]
	_, has := d.after.exports[pipeline.NameOf(is)]
	switch from, to := exportOf(was), exportOf(is); {
	case had && !has:
		d.add(d.about(ObjectTakenOver, is, "the same object, which another step composes"))
	case has && !had && d.before.pipeline != nil && !pipeline.IsOurs(was):
		d.add(d.about(ObjectTakenOver, is, "the same object, which another step composed"))
	case from != to:
		d.add(d.about(ObjectTakenOver, is, fmt.Sprintf("the same object, as %q in place of %q", to, from)))
	}
}

// data adds how the keys of an object change, and its type, labels and annotations.
func (d *comparison) data(was, is *structpb.Struct) {
	if pipeline.IsOurs(was) || pipeline.IsOurs(is) {
		had, has := allOf(was), allOf(is)
		for key, v := range allOf(d.first.Stored[world.KeyOf(is)]) {
			_, before := had[key]
			_, after := has[key]
			switch foreign := strings.HasPrefix(key, "metadata.") && d.before.pipeline == nil; {
			case !before && has[key] == v: // of another client: the Composition in use does not desire it
				delete(has, key)
			case !after && foreign: // it may be of another client
				delete(had, key)
			}
		}
		d.keys(d.about("", is, ""), had, has)
	}
}

// names returns the sorted keys of both maps.
func names[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// keys adds how values change: an effect for each key.
func (d *comparison) keys(about Effect, had, has map[string]string) {
	for _, key := range names(had, has) {
		was, existed := had[key]
		is, stays := has[key]
		e := about
		switch {
		case !existed:
			e.Kind = KeysAdded
		case !stays:
			e.Kind = KeysRemoved
		case was == is:
			continue
		default:
			e.Kind = KeysChanged
		}
		e.Keys, e.Bytes, e.values = []string{key}, [][2]int{{len(was), len(is)}}, was+"\x00"+is
		e.Labels = [][2]string{{d.labels.Of(was), d.labels.Of(is)}}
		d.add(e)
	}
}

// allOf returns what people see of an object of this function: its data, its type, and its labels and annotations
// except those of Crossplane, of kubectl, and of this function.
func allOf(o *structpb.Struct) map[string]string {
	out := pipeline.DataOf(o)
	for _, field := range []string{"labels", "annotations"} {
		for key, v := range object.Metadata(o)[field].GetStructValue().GetFields() {
			domain, _, _ := strings.Cut(key, "/")
			if !strings.HasSuffix(domain, "crossplane.io") && domain != "kubectl.kubernetes.io" {
				out["metadata."+field+"."+key] = v.GetStringValue()
			}
		}
	}
	return out
}

// connectionDetails compares those of a composite of the v1 style.
func (d *comparison) connectionDetails() {
	of := func(s *side) map[string]string {
		out := map[string]string{}
		for key, v := range s.Response.GetDesired().GetComposite().GetConnectionDetails() {
			out[key] = string(v)
		}
		return out
	}
	to := wire.Of(d.after.XR).At("spec", "writeConnectionSecretToRef").Struct()
	if !to.Exists() || d.before.pipeline == nil {
		return
	}
	r := state.Ref{APIVersion: "v1", Kind: "Secret", Namespace: to.Get("namespace").Text(), Name: to.Get("name").Text()}
	had := of(d.before)
	has := maps.Clone(had) // Crossplane removes no key
	maps.Copy(has, of(d.after))
	d.keys(Effect{Object: &r, Reason: "connection details of the composite"}, had, has)
}

// fields compares the status fields and the environment.
func (d *comparison) fields() {
	status := func(s *side) *structpb.Value {
		if world.FatalOf(d.before.Response) != "" { // what the composite has stays
			return s.XR.GetFields()["status"]
		}
		return s.Response.GetDesired().GetComposite().GetResource().GetFields()["status"]
	}
	environment := func(s *side) *structpb.Value {
		return s.Response.GetContext().GetFields()["apiextensions.crossplane.io/environment"]
	}
	if keys := changedPaths("status", status(d.before), status(d.after)); len(keys) > 0 {
		d.add(Effect{Kind: StatusChanged, Keys: keys})
	}
	isMeta := func(path string) bool { return path == "environment.apiVersion" || path == "environment.kind" }
	changed := changedPaths("environment", environment(d.before), environment(d.after))
	if keys := slices.DeleteFunc(changed, isMeta); len(keys) > 0 {
		d.add(Effect{Kind: EnvironmentChanged, Keys: keys})
	}
}

// changedPaths returns the paths of the values that differ.
func changedPaths(path string, a, b *structpb.Value) (out []string) {
	if proto.Equal(a, b) {
		return nil
	}
	x, y := a.GetStructValue().GetFields(), b.GetStructValue().GetFields()
	for _, name := range names(x, y) {
		out = append(out, changedPaths(path+"."+name, x[name], y[name])...)
	}
	if len(out) == 0 {
		return []string{path}
	}
	return out
}
