package render

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
)

// The kinds that Crossplane's render uses for output that is not an object, and one more for connection details.
const (
	apiVersion  = "render.crossplane.io/v1beta1"
	kindDetails = "ConnectionDetails"
)

// docs returns the output: the composite, the composed resources of this function by composition resource name, and
// on request the results and the context. It does not contain what Crossplane adds when it applies
// objects: owner references, labels, generated names and its own conditions.
//
// Connection details of a legacy composite come last, in a document of kind ConnectionDetails,
// which is not a kind of any API.
func (c *Command) docs(in *inputs, r *run) []map[string]any {
	desired := r.GetDesired()
	docs := []map[string]any{c.composite(in.xr, desired.GetComposite())}
	for _, name := range slices.Sorted(maps.Keys(desired.GetResources())) {
		if _, other := r.world.Earlier.GetResources()[name]; !other {
			o := proto.CloneOf(desired.GetResources()[name].GetResource())
			world.Set(o, name, "metadata", "annotations", world.ResourceNameAnnotation)
			docs = append(docs, o.AsMap())
		}
	}
	if c.IncludeFunctionResults {
		docs = append(docs, r.results...)
	}
	if c.IncludeContext {
		docs = append(docs, map[string]any{"apiVersion": apiVersion, "kind": "Context", "fields": r.GetContext().AsMap()})
	}
	if details := desired.GetComposite().GetConnectionDetails(); len(details) > 0 {
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
	var out bytes.Buffer
	if c.Output == "json" {
		err := terminal.WriteJSON(&out, map[string]any{"apiVersion": "v1", "kind": "List", "items": docs})
		return out.Bytes(), err
	}
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
func (c *Command) composite(xr manifest, desired *fnv1.Resource) map[string]any {
	out := maps.Clone(xr.fields)
	if !c.IncludeFullXR {
		metadata := map[string]any{"name": xr.Name}
		if xr.Namespace != "" {
			metadata["namespace"] = xr.Namespace
		}
		out = map[string]any{"apiVersion": xr.APIVersion, "kind": xr.Kind, "metadata": metadata}
	}
	if status := mapIn(desired.GetResource().AsMap(), "status"); status != nil {
		out = mergeMaps(out, map[string]any{"status": status})
	}
	return out
}

// mapIn returns a field that is a map, or nil.
func mapIn(o map[string]any, field string) map[string]any {
	out, _ := o[field].(map[string]any)
	return out
}

// mergeMaps returns b merged over a: maps are merged, all other values are replaced.
func mergeMaps(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for k, v := range b {
		if was, is := mapIn(out, k), mapIn(b, k); was != nil && is != nil {
			v = mergeMaps(was, is)
		}
		out[k] = v
	}
	return out
}

// resultDoc returns the event that Crossplane creates for a result.
func resultDoc(step string, rs *fnv1.Result) map[string]any {
	severity := "Warning"
	if rs.GetSeverity() == fnv1.Severity_SEVERITY_NORMAL {
		severity = "Normal"
	}
	return map[string]any{
		"apiVersion": apiVersion,
		"kind":       "Result",
		"severity":   severity,
		"reason":     cmp.Or(rs.GetReason(), "ComposeResources"),
		"message":    fmt.Sprintf("Pipeline step %q: %s", step, rs.GetMessage()),
	}
}

func detailsDoc(details map[string][]byte) map[string]any {
	data := map[string]any{}
	for k, v := range details {
		data[k] = base64.StdEncoding.EncodeToString(v)
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kindDetails, "data": data}
}

// The reason of the condition about an invalid input.
const reasonInvalid = "InvalidInput"

// respond prints the messages of a step for a person. A line that cannot be written is lost, because only the objects
// and the exit code matter. If the function refused the input, the diagnostics of the input are printed as
// function-export check does, in place of the one line that the function returns. There are none if the input is only
// wrong together with the files.
func (in *inputs) respond(ctx context.Context, step string, rsp *fnv1.RunFunctionResponse, w io.Writer) error {
	s, ok := in.exports[step]
	isInvalid := func(c *fnv1.Condition) bool { return c.GetReason() == reasonInvalid }
	isFatal, invalid := world.FatalOf(rsp) != "", ""
	if ok && isFatal && slices.ContainsFunc(rsp.GetConditions(), isInvalid) {
		env, err := advice.NewEnvironment()
		if err != nil {
			return err
		}
		if _, list := s.Compile(ctx, env); len(list) > 0 {
			_ = terminal.PrintText(w, s.AllInFile(list))
			invalid = fmt.Sprintf("the input of pipeline step %q has %s", step, terminal.Counted(len(list), "error", "errors"))
		}
	}
	for _, rs := range rsp.GetResults() {
		text := rs.GetMessage()
		if rs.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			text = cmp.Or(invalid, text)
		}
		say(w, severityText(rs.GetSeverity()), text)
	}
	for _, c := range rsp.GetConditions() {
		text := c.GetMessage()
		if isInvalid(c) && isFatal {
			text = "" // that of the result
		}
		say(w, fmt.Sprintf("%s=%s %s", c.GetType(), statusText(c.GetStatus()), c.GetReason()), text)
	}
	return nil
}

// say prints a message. If the message has several reasons, or a command that shows more, each has a line of its own.
func say(w io.Writer, head, message string) {
	text := terminal.OneLine(head)
	switch reasons := strings.Split(terminal.OneLine(message), "; "); {
	case message == "":
	case len(reasons) == 1:
		text += ": " + reasons[0]
	default:
		text += ":\n  " + strings.Join(reasons, "\n  ")
	}
	_, _ = fmt.Fprintln(w, text)
}
