package render

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A report is what --changes prints. It names keys, but never contains a value.
type report struct {
	bytes.Buffer

	losses bool // something that exists is deleted, changed or removed
}

// changes reports how each Secret and ConfigMap of the composite differs from the observed one.
func (r *run) changes(in *inputs) *report {
	out := &report{losses: r.deletes}
	_, _ = fmt.Fprintf(out, "%s %s\n", in.xr.kind(), strings.TrimPrefix(in.xr.namespace()+"/"+in.xr.name(), "/"))
	for _, name := range slices.Sorted(maps.Keys(r.desired.GetResources())) {
		resource := r.desired.GetResources()[name]
		after := object{manifest: &manifest{Object: resource.GetResource().AsMap()}}
		before := object{manifest: &manifest{Object: r.observed.GetResources()[name].GetResource().AsMap()}}
		if after.isExportable() {
			out.change(in, name, before, after, resource.GetReady() == fnv1.Ready_READY_TRUE)
		}
	}
	return out
}

// change adds how one object differs from the observed one.
func (out *report) change(in *inputs, name string, before, after object, ready bool) {
	keys := diff.CompareKeys(before.keys(), after.keys())
	same := len(keys.Added)+len(keys.Changed)+len(keys.Removed) == 0
	step := in.composedBy(name)
	what := "is changed"
	switch {
	case before.kind() == "":
		what = "is created"
	case step != "":
		what = fmt.Sprintf("is in conflict: step %q still composes %q, so remove it there", step, name)
	case !ready:
		what = "is kept unchanged"
	case !in.composes(name) && !strings.HasPrefix(name, plan.GenerationPrefix):
		what = fmt.Sprintf("is taken over (composed resource %q)", name)
	case same:
		what = "keeps its data"
	}
	out.losses = out.losses || step != "" || len(keys.Changed)+len(keys.Removed) > 0
	at := strings.TrimPrefix(after.namespace()+"/"+after.name(), "/")
	_, _ = fmt.Fprintf(out, "  %s %s %s\n", after.kind(), at, what)
	out.list("unchanged key", keys.Unchanged)
	out.list("changed key", keys.Changed)
	out.list("new key", keys.Added)
	out.list("removed key", keys.Removed)
	out.list("removed label", lost(before.texts("metadata", "labels"), after.texts("metadata", "labels")))
	out.list("removed annotation", lost(before.texts("metadata", "annotations"), after.texts("metadata", "annotations")))
}

func (out *report) list(what string, names []string) {
	if n := len(names); n > 0 {
		_, _ = fmt.Fprintf(out, "    %s: %s\n", terminal.Counted(n, what, what+"s"), strings.Join(names, ", "))
	}
}

// lost returns the sorted keys of labels or annotations that an object no longer has, without those of Crossplane and
// of kubectl.
func lost(before, after map[string]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(before)) {
		domain, _, _ := strings.Cut(key, "/")
		if _, ok := after[key]; !ok && !strings.HasSuffix(domain, "crossplane.io") && domain != "kubectl.kubernetes.io" {
			out = append(out, key)
		}
	}
	return out
}

// keys returns the data of a Secret or a ConfigMap, encoded as in the object.
func (d object) keys() map[string]string {
	out := d.texts("data") // other values are no data
	binary := d.texts("binaryData")
	if out == nil {
		return binary
	}
	maps.Copy(out, binary)
	return out
}

// composes reports whether a step of this function has an export with a composition resource name, or an export for
// each item of a list whose objects have such names.
func (in *inputs) composes(resource string) bool {
	named := func(export any) bool {
		fields, _ := export.(map[string]any)
		name, _ := fields["name"].(string)
		return resource == name || strings.HasPrefix(resource, name+"/")
	}
	return slices.ContainsFunc(in.steps, func(s composition.Step) bool {
		secrets, _ := s.Input["secrets"].([]any)
		configMaps, _ := s.Input["configMaps"].([]any)
		return files.IsExports(s) && (slices.ContainsFunc(secrets, named) || slices.ContainsFunc(configMaps, named))
	})
}

// composedBy returns the name of a skipped step that composes a resource, or an empty text.
func (in *inputs) composedBy(resource string) string {
	i := slices.IndexFunc(in.steps, func(s composition.Step) bool {
		named := slices.ContainsFunc(s.Resources, func(c composition.Resource) bool { return c.Name == resource })
		return !files.IsExports(s) && (named || strings.HasSuffix(resource, "connection-secret") && composesDetails(s))
	})
	if i < 0 {
		return ""
	}
	return in.steps[i].Name
}

// composesDetails reports whether a step of function-patch-and-transform composes the connection Secret of the
// composite.
func composesDetails(s composition.Step) bool {
	if s.Group() != "pt.fn.crossplane.io" {
		return false
	}
	resources, _ := s.Input["resources"].([]any)
	return s.Input["writeConnectionSecretToRef"] != nil || slices.ContainsFunc(resources, func(r any) bool {
		fields, _ := r.(map[string]any)
		return fields["connectionDetails"] != nil
	})
}
