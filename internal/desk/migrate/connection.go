package migrate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// ownName is the name that a composite can set itself.
var ownName = []any{"spec", "writeConnectionSecretToRef", "name"}

// placeConnection names the Secret as function-patch-and-transform does for a composite of Crossplane v2:
// after the composite, then by ref of its input, whose patches change the name. The Secret has no type:
// an existing one keeps its type, and applications do not depend on it.
func placeConnection(e *node, ref decode.Value, x xr) {
	name, namespace := &choice{last: "composite.metadata.name + '-connection'"},
		&choice{last: "composite.metadata.namespace"}
	if n := ref.Get("name").Text(); n != "" {
		name.last = celtext.Literal(n)
	}
	if x.may(ownName...) {
		name.prefer(celtext.Path(x.variable(ownName...), ownName, true))
	}
	literal := ref.Get("namespace").Text()
	if literal != "" {
		namespace.last = celtext.Literal(literal)
	}
	before := namespace.String()
	metadata := mapping()
	for _, p := range items(ref.Get("patches")) {
		if err := patch(p, map[string]*choice{"name": name, "namespace": namespace}, x); err != nil {
			metadata.note(fmt.Sprintf("%s%s %s: write it in CEL.", decide, p.Path, err))
		}
	}
	metadata.with("nameExpression", textNode(name.String()))
	switch {
	case namespace.String() != before:
		metadata.with("namespaceExpression", textNode(namespace.String()))
	case literal != "":
		metadata.withText("namespace", literal)
	case x.scope != catalog.Namespaced:
		metadata.note(decide + "set metadata.namespace for a cluster scoped composite: previously its " +
			"spec.writeConnectionSecretToRef contained the namespace.")
	}
	e.with("metadata", metadata)
	if x.scope == "" {
		e.note(decide + "for a legacy composite (a composite with a claim) remove metadata, and add connectionDetails: " +
			"true. If the XRD is among the files, this is known.")
	}
	e.note(takenOver...)
}

// takenOver says what happens to the Secret that is there.
var takenOver = []string{
	"If the composite already composes a Secret with this name, it is taken over, and keeps its type.",
	"Keys that only the old Secret had stay, until you set prune: true.",
}

// A choice is the first of several optional expressions that has a value, or the last one.
type choice struct {
	optional []string
	last     string
}

// prefer adds an expression that comes before the others. It need not be there twice.
func (c *choice) prefer(x string) {
	same := func(other string) bool { return strings.Replace(other, "dyn(composite)", "composite", 1) == x }
	if i := slices.IndexFunc(c.optional, same); i >= 0 {
		x = c.optional[i]
		c.optional = slices.Delete(c.optional, i, i+1)
	}
	c.optional = slices.Insert(c.optional, 0, x)
}

// String returns the CEL.
func (c *choice) String() string {
	if len(c.optional) == 0 {
		return c.last
	}
	x := c.optional[0]
	for _, o := range c.optional[1:] {
		x += ".or(" + o + ")"
	}
	return x + ".orValue(" + c.last + ")"
}

// patch changes the expression of the name or the namespace.
func patch(p decode.Value, place map[string]*choice, c xr) error {
	to, ok := place[p.Get("toFieldPath").Text()]
	if !ok {
		return errors.New("sets neither the name nor the namespace")
	}
	switch p.Get("type").Text() {
	case "", "FromCompositeFieldPath":
		return fromComposite(p, to, c)
	case "CombineFromComposite":
		x, err := combineExpression(p)
		if err == nil {
			*to = choice{last: x}
		}
		return err
	}
	return errors.New("has a type that cannot patch the name of a Secret")
}

func fromComposite(p decode.Value, to *choice, c xr) error {
	format, err := patchFormat(p.Get("transforms"))
	if err != nil {
		return err
	}
	required := p.Get("policy", "fromFieldPath").Text() == "Required"
	path := needed(p.Get("fromFieldPath"))
	list, err := parsePath(path)
	if err != nil {
		return err
	}
	x := celtext.Path("composite", list, !required)
	if format != "" {
		value := x
		if !required {
			value = "v"
		}
		filled, err := formatted(format, []string{value})
		switch {
		case err != nil:
			return err
		case required:
			*to = choice{last: filled}
		default:
			to.prefer(fmt.Sprintf("%s.optMap(v, %s)", x, filled))
		}
		return nil
	}
	if !required {
		to.prefer(x)
		return nil
	}
	if typeAt(c.schema, list...) != "string" {
		x = "string(" + x + ")"
	}
	*to = choice{last: x}
	return nil
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
