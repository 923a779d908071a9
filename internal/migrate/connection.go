package migrate

import (
	"errors"
	"fmt"
)

// connectionType is that of each Secret with connection details. A Secret cannot
// change its type, so that one which is there already keeps it.
const connectionType = "connection.crossplane.io/v1alpha1"

// placeConnection names the Secret as function-patch-and-transform does for a
// composite of Crossplane v2: first as the composite says, then as ref of its input
// does, and then patches change the name.
func placeConnection(e *node, ref *cursor) {
	name, namespace := "composite.metadata.name + '-connection'", ""
	var patches []cursor
	if ref != nil {
		if n := ref.get("name").text(); n != "" {
			name = literal(n)
		}
		namespace = ref.get("namespace").text()
		patches = ref.get("patches").items()
	}
	place := map[string]string{
		// dyn, for an XRD of Crossplane v2 need not have the field.
		"name":      "dyn(composite).?spec.?writeConnectionSecretToRef.?name.orValue(" + name + ")",
		"namespace": "composite.metadata.namespace",
	}
	if namespace != "" {
		place["namespace"] = literal(namespace)
	}
	before := place["namespace"]
	metadata := mapping()
	for _, p := range patches {
		if err := patch(p, place); err != nil {
			metadata.note(fmt.Sprintf("%s%s %s: write it in CEL.", decide, p.at, err))
		}
	}
	metadata.with("nameExpression", textNode(place["name"]))
	if place["namespace"] != before {
		metadata.with("namespaceExpression", textNode(place["namespace"]))
	} else {
		metadata.withText("namespace", namespace)
	}
	if place["namespace"] == before && namespace == "" {
		metadata.note(decide + "set metadata.namespace for a cluster scoped composite: its spec.writeConnectionSecretToRef said it before.")
	}
	e.with("metadata", metadata).withText("type", connectionType)
	e.note(decide+"for a legacy composite, one with a claim, drop metadata and type, and add connectionDetails: true.",
		decide+"a Secret of this name that is there already is kept, and the condition says which name this export needs to take it over.")
}

// patch the expression of the name, or of the namespace.
func patch(p cursor, place map[string]string) error {
	to := p.get("toFieldPath").text()
	before, ok := place[to]
	if !ok {
		return errors.New("is to neither name nor namespace")
	}
	x, err := patchExpression(p, before)
	if err == nil {
		place[to] = x
	}
	return err
}

// patchExpression is the CEL of a patch, over what it patches.
func patchExpression(p cursor, before string) (string, error) {
	switch kind := p.get("type").text(); kind {
	case "", "FromCompositeFieldPath":
		return fromCompositeExpression(p, before)
	case "CombineFromComposite":
		return combineExpression(p)
	}
	return "", errors.New("has a type that no Secret's name can be patched by")
}

func fromCompositeExpression(p cursor, before string) (string, error) {
	format, err := patchFormat(p.get("transforms"))
	if err != nil {
		return "", err
	}
	required := p.get("policy", "fromFieldPath").text() == "Required"
	x, err := celPath("composite", p.get("fromFieldPath").needed(), !required)
	if err != nil {
		return "", err
	}
	filled := "v"
	if format != "" {
		if filled, err = formatted(format, []string{"v"}); err != nil {
			return "", err
		}
	}
	switch {
	case required && format == "":
		return "string(" + x + ")", nil
	case required:
		return formatted(format, []string{x})
	case format == "":
		return x + ".orValue(" + before + ")", nil
	}
	return fmt.Sprintf("%s.optMap(v, %s).orValue(%s)", x, filled, before), nil
}

// patchFormat is the format that the only transform has, or none.
func patchFormat(transforms cursor) (string, error) {
	list := transforms.items()
	if len(list) == 0 {
		return "", nil
	}
	t := list[0]
	format := t.get("string", "fmt").text()
	kind := t.get("string", "type").text()
	if len(list) > 1 || t.get("type").text() != "string" || kind != "" && kind != "Format" || format == "" {
		return "", errors.New("has transforms other than one string format")
	}
	return format, nil
}

func combineExpression(p cursor) (string, error) {
	var values []string
	for _, v := range p.get("combine", "variables").items() {
		x, err := celPath("composite", v.get("fromFieldPath").needed(), false)
		if err != nil {
			return "", err
		}
		values = append(values, x)
	}
	return formatted(p.get("combine", "string", "fmt").text(), values)
}
