package render

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"sigs.k8s.io/yaml"
)

// The kinds that Crossplane's render uses for output that is not an object, and one more for connection details.
const (
	apiVersion  = "render.crossplane.io/v1beta1"
	kindDetails = "ConnectionDetails"
)

// docs returns the output: the composite, the composed resources by composition resource name, and
// on request the results and the context. It does not contain what Crossplane adds when it applies
// objects: owner references, labels, generated names and its own conditions.
//
// Connection details of a legacy composite come last, in a document of kind ConnectionDetails,
// which is not a kind of any API.
func (c *Command) docs(in *inputs, r *run) []map[string]any {
	docs := []map[string]any{c.composite(in.xr, r.desired.GetComposite())}
	for _, name := range slices.Sorted(maps.Keys(r.desired.GetResources())) {
		docs = append(docs, composedDoc(name, r.desired.GetResources()[name]))
	}
	if c.IncludeFunctionResults {
		for _, rs := range r.results {
			docs = append(docs, rs.doc())
		}
	}
	if c.IncludeContext {
		docs = append(docs, map[string]any{
			"apiVersion": apiVersion,
			"kind":       "Context",
			"fields":     r.context.AsMap(),
		})
	}
	if details := r.desired.GetComposite().GetConnectionDetails(); len(details) > 0 {
		docs = append(docs, detailsDoc(details))
	}
	return docs
}

// print prints the output.
func (c *Command) print(in *inputs, r *run) ([]byte, error) {
	docs := c.docs(in, r)
	for i := range docs {
		if !c.ShowSecrets {
			docs[i], _ = maskSecrets(docs[i]).(map[string]any)
		}
	}
	if c.Output == "json" {
		list := map[string]any{"apiVersion": "v1", "kind": "List", "items": docs}
		out, err := json.MarshalIndent(list, "", "  ")
		if err != nil {
			return nil, errors.New("cannot print the objects as JSON")
		}
		return append(out, '\n'), nil
	}
	var out bytes.Buffer
	for i, d := range docs {
		b, err := yaml.Marshal(d)
		if err != nil {
			return nil, fmt.Errorf("cannot print document %d", i+1)
		}
		out.WriteString("---\n")
		out.Write(b)
	}
	return out.Bytes(), nil
}

// composite returns the desired composite: its identity and its status, because a function decides
// only the status. With IncludeFullXR the status is merged over the status of the file, and the
// rest of the file is included.
func (c *Command) composite(xr object, desired *fnv1.Resource) map[string]any {
	status, _ := desired.GetResource().AsMap()["status"].(map[string]any)
	if c.IncludeFullXR {
		full := xr.clone().Object
		if status != nil {
			observed, _ := full["status"].(map[string]any)
			full["status"] = mergeMaps(observed, status)
		}
		return full
	}
	metadata := map[string]any{"name": xr.name()}
	if ns := xr.namespace(); ns != "" {
		metadata["namespace"] = ns
	}
	out := map[string]any{"apiVersion": xr.apiVersion(), "kind": xr.kind(), "metadata": metadata}
	if status != nil {
		out["status"] = status
	}
	return out
}

// mergeMaps merges b into a: maps are merged, all other values are replaced.
func mergeMaps(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range b {
		av, aok := out[k].(map[string]any)
		bv, bok := v.(map[string]any)
		if aok && bok {
			v = mergeMaps(av, bv)
		}
		out[k] = v
	}
	return out
}

// composedDoc returns a desired resource with its composition resource name.
func composedDoc(name string, r *fnv1.Resource) map[string]any {
	doc := r.GetResource().AsMap()
	metadata, ok := doc["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		doc["metadata"] = metadata
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[resourceNameKey] = name
	return doc
}

// doc returns the event that Crossplane creates for a result.
func (rs result) doc() map[string]any {
	severity := "Warning"
	if rs.GetSeverity() == fnv1.Severity_SEVERITY_NORMAL {
		severity = "Normal"
	}
	reason := rs.GetReason()
	if reason == "" {
		reason = "ComposeResources"
	}
	return map[string]any{
		"apiVersion": apiVersion,
		"kind":       "Result",
		"severity":   severity,
		"reason":     reason,
		"message":    fmt.Sprintf("Pipeline step %q: %s", rs.step, rs.GetMessage()),
	}
}

func detailsDoc(details map[string][]byte) map[string]any {
	data := map[string]any{}
	for k, v := range details {
		data[k] = base64.StdEncoding.EncodeToString(v)
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kindDetails, "data": data}
}
