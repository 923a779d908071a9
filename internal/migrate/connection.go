package migrate

import (
	"errors"
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/decode"
	"github.com/crossplane-contrib/function-export/internal/migrate/celtext"
)

// connectionType is the type of each Secret with connection details. It does not change, because the
// type of an existing Secret is immutable.
const connectionType = "connection.crossplane.io/v1alpha1"

// placeConnection names the Secret as function-patch-and-transform does for a composite of Crossplane v2:
// after the composite, then by ref of its input, whose patches change the name.
func placeConnection(e *node, ref decode.Value) {
	name, namespace := "composite.metadata.name + '-connection'", ref.Get("namespace").Text()
	if n := ref.Get("name").Text(); n != "" {
		name = celtext.Literal(n)
	}
	place := map[string]string{
		// dyn, because an XRD of Crossplane v2 may not have the field.
		"name":      "dyn(composite).?spec.?writeConnectionSecretToRef.?name.orValue(" + name + ")",
		"namespace": "composite.metadata.namespace",
	}
	if namespace != "" {
		place["namespace"] = celtext.Literal(namespace)
	}
	before := place["namespace"]
	metadata := mapping()
	for _, p := range items(ref.Get("patches")) {
		if err := patch(p, place); err != nil {
			metadata.note(fmt.Sprintf("%s%s %s: write it in CEL.", decide, p.Path, err))
		}
	}
	metadata.with("nameExpression", textNode(place["name"]))
	if place["namespace"] != before {
		metadata.with("namespaceExpression", textNode(place["namespace"]))
	} else {
		metadata.withText("namespace", namespace)
	}
	if place["namespace"] == before && namespace == "" {
		metadata.note(decide + "set metadata.namespace for a cluster scoped composite: previously its spec.writeConnectionSecretToRef contained the namespace.")
	}
	e.with("metadata", metadata).withText("type", connectionType)
	e.note(decide+"for a legacy composite (a composite with a claim) remove metadata and type, and add connectionDetails: true.",
		decide+"an existing Secret with this name is kept, and the condition says which name this export needs to take it over.")
}

// patch changes the expression of the name or the namespace.
func patch(p decode.Value, place map[string]string) error {
	to := p.Get("toFieldPath").Text()
	before, ok := place[to]
	if !ok {
		return errors.New("sets neither the name nor the namespace")
	}
	var x string
	var err error
	switch p.Get("type").Text() {
	case "", "FromCompositeFieldPath":
		x, err = fromCompositeExpression(p, before)
	case "CombineFromComposite":
		x, err = combineExpression(p)
	default:
		return errors.New("has a type that cannot patch the name of a Secret")
	}
	if err == nil {
		place[to] = x
	}
	return err
}

func fromCompositeExpression(p decode.Value, before string) (string, error) {
	format, err := patchFormat(p.Get("transforms"))
	if err != nil {
		return "", err
	}
	required := p.Get("policy", "fromFieldPath").Text() == "Required"
	x, err := celPath("composite", needed(p.Get("fromFieldPath")), !required)
	switch {
	case err != nil:
		return "", err
	case required && format == "":
		return "string(" + x + ")", nil
	case required:
		return formatted(format, []string{x})
	case format == "":
		return x + ".orValue(" + before + ")", nil
	}
	filled, err := formatted(format, []string{"v"})
	return fmt.Sprintf("%s.optMap(v, %s).orValue(%s)", x, filled, before), err
}

// patchFormat returns the format of the only transform, or an empty text.
func patchFormat(transforms decode.Value) (string, error) {
	list := items(transforms)
	if len(list) == 0 {
		return "", nil
	}
	t := list[0]
	format := t.Get("string", "fmt").Text()
	kind := t.Get("string", "type").Text()
	if len(list) > 1 || t.Get("type").Text() != "string" || kind != "" && kind != "Format" || format == "" {
		return "", errors.New("has transforms other than one string format")
	}
	return format, nil
}

func combineExpression(p decode.Value) (string, error) {
	var values []string
	for _, v := range items(p.Get("combine", "variables")) {
		x, err := celPath("composite", needed(v.Get("fromFieldPath")), false)
		if err != nil {
			return "", err
		}
		values = append(values, x)
	}
	return formatted(p.Get("combine", "string", "fmt").Text(), values)
}
