package render

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/cli/files"
	"github.com/crossplane-contrib/function-export/internal/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/composition"
	"github.com/crossplane-contrib/function-export/internal/plan"
)

// changes returns the report of --changes: the composite, and how each Secret and ConfigMap differs from the observed
// one. It names keys, but never contains a value.
func (r *run) changes(in *inputs) []byte {
	var out bytes.Buffer
	_, _ = fmt.Fprintf(&out, "%s %s\n", in.xr.GetKind(), strings.TrimPrefix(in.xr.GetNamespace()+"/"+in.xr.GetName(), "/"))
	for _, name := range slices.Sorted(maps.Keys(r.desired.GetResources())) {
		resource := r.desired.GetResources()[name]
		after := object{Unstructured: &unstructured.Unstructured{Object: resource.GetResource().AsMap()}}
		before := object{Unstructured: &unstructured.Unstructured{Object: r.observed.GetResources()[name].GetResource().AsMap()}}
		if after.isExportable() {
			in.change(&out, name, before, after, resource.GetReady() == fnv1.Ready_READY_TRUE)
		}
	}
	return out.Bytes()
}

// change writes how one object differs from the observed one.
func (in *inputs) change(out *bytes.Buffer, name string, before, after object, ready bool) {
	keys := compareKeys(before, after)
	what := "is changed"
	switch {
	case before.GetKind() == "":
		what = "is created"
	case !ready:
		what = "is kept unchanged"
	case !in.composes(name) && !strings.HasPrefix(name, plan.GenerationPrefix):
		what = fmt.Sprintf("is taken over (composed resource %q)", name)
	case len(keys["new"])+len(keys["changed"])+len(keys["removed"]) == 0:
		what = "keeps its data"
	}
	at := strings.TrimPrefix(after.GetNamespace()+"/"+after.GetName(), "/")
	_, _ = fmt.Fprintf(out, "  %s %s %s\n", after.GetKind(), at, what)
	for _, how := range []string{"unchanged", "changed", "new", "removed"} {
		if n := len(keys[how]); n > 0 {
			_, _ = fmt.Fprintf(out, "    %s: %s\n", terminal.Counted(n, how+" key", how+" keys"), strings.Join(keys[how], ", "))
		}
	}
}

// compareKeys returns the sorted keys of the data of two objects by what happens to them.
func compareKeys(before, after object) map[string][]string {
	out := map[string][]string{}
	had, has := before.keys(), after.keys()
	for _, key := range slices.Sorted(maps.Keys(has)) {
		value, existed := had[key]
		how := "changed"
		switch {
		case !existed:
			how = "new"
		case value == has[key]:
			how = "unchanged"
		}
		out[how] = append(out[how], key)
	}
	for _, key := range slices.Sorted(maps.Keys(had)) {
		if _, ok := has[key]; !ok {
			out["removed"] = append(out["removed"], key)
		}
	}
	return out
}

// keys returns the data of a Secret or a ConfigMap, encoded as in the object.
func (d object) keys() map[string]string {
	out, _, _ := unstructured.NestedStringMap(d.Object, "data") // other values are no data
	binary, _, _ := unstructured.NestedStringMap(d.Object, "binaryData")
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
