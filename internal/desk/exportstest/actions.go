package exportstest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// Annotations of the composite.
const (
	annotationRotate = "export.fn.crossplane.io/rotate"
	annotationPaused = "crossplane.io/paused"
)

// do does what an action says. An error says why the test cannot mean it.
func (p *player) do(a *Action) error {
	switch {
	case a.Rotate != "":
		p.faults.rotations++
		p.annotate(annotationRotate, fmt.Sprintf("%s=test-%d", a.Rotate, p.faults.rotations))
		return p.knowsGenerator(a.Rotate)
	case a.Edit != nil:
		return p.edit(a.Edit)
	case a.Create != nil:
		o := world.StructOf(a.Create)
		for key, v := range o.GetFields()["stringData"].GetStructValue().GetFields() { // as the API server stores it
			world.Set(o, encode(v.GetStringValue()), "data", key)
		}
		delete(o.GetFields(), "stringData")
		p.w.Put(o)
	case a.Delete != "":
		key, err := p.find(a.Delete)
		p.laws.forget(a.Delete)
		delete(p.w.Stored, key)
		return err
	case a.Annotate != nil:
		for _, key := range slices.Sorted(maps.Keys(a.Annotate)) {
			p.annotate(key, a.Annotate[key])
		}
	case a.Pause != nil:
		p.faults.paused = *a.Pause
		p.annotate(annotationPaused, map[bool]string{true: "true"}[*a.Pause])
	case a.Restore != "":
		return p.restore(a.Restore)
	case a.LoseWrite != "":
		p.faults.lose[a.LoseWrite] = true
	case a.Late != "":
		p.w.BeLate(a.Late)
		p.faults.late = append(p.faults.late, a.Late)
	case a.Restart:
		p.w.Restart()
	case a.Provider != nil:
		provider := *a.Provider
		return p.addProvider(&provider)
	}
	return nil
}

// knowsGenerator returns an error about a generator that no input has. The generator of an item has its key after it.
func (p *player) knowsGenerator(name string) error {
	known := slices.Sorted(maps.Keys(p.setup.generators()))
	if slices.Contains(known, exportOf(name)) {
		return nil
	}
	return fmt.Errorf("no generator has the name %q%s", name, suggest.ThereAre(name, known, "there are none"))
}

// find returns the key of a composed object.
func (p *player) find(name string) (string, error) {
	names := p.named()
	if key, ok := names[name]; ok {
		return key, nil
	}
	return "", fmt.Errorf("no object has the composition resource name %q%s", name,
		suggest.ThereAre(name, slices.Sorted(maps.Keys(names)), "none exists"))
}

// annotate annotates the composite. An empty text removes the annotation.
func (p *player) annotate(key, text string) {
	var v any
	if text != "" {
		v = text
	}
	p.w.PatchXR(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: v}}})
}

func (p *player) edit(e *Edit) error {
	if e.Object == "" {
		p.w.PatchXR(e.Patch)
		return nil
	}
	key, err := p.find(e.Object)
	if err == nil {
		p.laws.forget(e.Object)
		p.w.Patch(key, e.Patch)
	}
	return err
}

// restore restores the Secrets and ConfigMaps of a moment that no longer exist: without owners, and with new UIDs.
func (p *player) restore(moment string) error {
	i := slices.IndexFunc(p.moments, func(s *snapshot) bool { return s.name == moment })
	if i < 0 {
		return fmt.Errorf("no earlier moment has the name %q", moment)
	}
	for _, name := range slices.Sorted(maps.Keys(p.moments[i].stored)) {
		o := proto.CloneOf(p.moments[i].stored[name])
		kind := o.GetFields()["kind"].GetStringValue()
		if p.w.Stored[world.KeyOf(o)] != nil || kind != "Secret" && kind != "ConfigMap" {
			continue
		}
		maps.DeleteFunc(o.GetFields()["metadata"].GetStructValue().GetFields(), pipeline.IsServers)
		p.w.Put(o)
	}
	return nil
}

// observeAll changes what providers report, as soon as their resources exist. It reports whether something changed.
func (p *player) observeAll() bool {
	changed := false
	for _, name := range slices.Sorted(maps.Keys(p.faults.reports)) {
		if key, err := p.find(name); err == nil {
			p.observe(key, p.faults.reports[name])
			delete(p.faults.reports, name)
			changed = true
		}
	}
	return changed
}

// observe changes what a provider reports about an object.
func (p *player) observe(key string, o Observation) {
	if o.Gone {
		delete(p.w.Details, key)
		p.w.Patch(key, map[string]any{"status": nil})
		return
	}
	if o.ConnectionDetails != nil {
		details := map[string][]byte{}
		for k, v := range o.ConnectionDetails {
			details[k] = []byte(v)
		}
		p.w.Details[key] = details
	}
	if o.Status != nil {
		p.w.Patch(key, map[string]any{"status": o.Status})
	}
	if o.Ready != nil {
		ready := map[string]any{"type": "Ready", "status": map[bool]string{true: "True", false: "False"}[*o.Ready]}
		p.w.Patch(key, map[string]any{"status": map[string]any{"conditions": []any{ready}}})
	}
}

// A provider accepts the newest generation of a generator, some time after an export offers it.
type provider struct {
	Provider
	generator, output string

	offered  string    // the value
	since    time.Time // when it was offered
	accepted string
}

// addProvider adds a provider, or changes what it does. Its resource may exist later.
func (p *player) addProvider(a *Provider) error {
	if others := p.others(); a.Resource == "" && len(others) == 1 {
		a.Resource = others[0]
	} else if a.Resource == "" {
		return errors.New("provider.resource must be set" + suggest.ThereAre("", others, ""))
	}
	generator, output, _ := generatorOf(a.Accepts)
	for _, known := range p.faults.providers {
		if known.Resource == a.Resource && known.Accepts == a.Accepts {
			known.Provider = *a
			return nil
		}
	}
	p.faults.providers = append(p.faults.providers, &provider{Provider: *a, generator: generator, output: output})
	return p.knowsGenerator(generator)
}

// others returns the names of what other steps compose.
func (p *player) others() (out []string) {
	out = slices.AppendSeq(slices.Collect(maps.Keys(p.w.Earlier.GetResources())), maps.Keys(p.named()))
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(name string) bool { // they are ours
		return p.laws.exports[exportOf(name)] != nil || strings.HasPrefix(name, plan.GenerationPrefix)
	})
}

// generatorOf returns the generator and the output of candidate.<generator>.<output>.
func generatorOf(accepts string) (generator, output string, ok bool) {
	of := strings.Split(accepts, ".")
	if len(of) != 3 || of[0] != "candidate" || of[1] == "" || of[2] == "" {
		return "", "", false
	}
	return of[1], of[2], true
}

// due returns when the provider accepts what is offered to it, or zero.
func (v *provider) due() time.Time {
	if v.Refuses || v.offered == "" || v.offered == v.accepted {
		return time.Time{}
	}
	return v.since.Add(v.After.Duration)
}

// provide lets providers see what exports offer, and accept it. It reports whether connection details changed.
func (p *player) provide() bool {
	changed := p.observeAll()
	for _, v := range p.faults.providers {
		key, err := p.find(v.Resource)
		if err != nil {
			continue
		}
		if value := p.offered(v); value != v.offered {
			v.offered, v.since = value, p.w.Now
		}
		if due := v.due(); due.IsZero() || due.After(p.w.Now) {
			continue
		}
		details := map[string][]byte{}
		maps.Copy(details, p.w.Details[key])
		details[cmp.Or(v.Key, v.output)] = []byte(v.offered)
		p.w.Details[key], v.accepted, changed = details, v.offered, true
	}
	return changed
}

// offered returns the output of the newest generation whose value an export has.
func (p *player) offered(v *provider) string {
	for _, g := range slices.Backward(p.laws.inOrder()) {
		value := g.outputs[v.output]
		if g.generator != v.generator {
			continue
		}
		for name, key := range p.named() {
			if strings.HasPrefix(name, plan.GenerationPrefix) || value == "" {
				continue
			}
			for k, has := range pipeline.DataOf(p.w.Stored[key]) {
				text := p.laws.exports.expression(name, k)
				if has == value && (strings.Contains(text, "candidate.") || !p.laws.hasSetter(v.generator)) {
					return value
				}
			}
		}
	}
	return ""
}
