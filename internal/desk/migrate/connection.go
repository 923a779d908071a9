package migrate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

const emptyValue = "the value is empty, and empty values are never exported"

// takenOver says what happens to the Secret that is there.
var takenOver = []string{
	"If the composite already composes a Secret with this name, it is taken over, and keeps its type.",
	"Keys that only the old Secret had stay, until you set prune: true.",
}

// connection adds the Secret with the connection details of all templates.
func (s *step) connection(m *migration, templates []template, ref, spec decode.Value, x xr) {
	var entries []*node
	for _, t := range templates {
		list := items(t.Get("connectionDetails"))
		if len(list) > 0 {
			s.remove = append(s.remove, t.where("connectionDetails"))
		}
		for _, c := range list {
			entries = append(entries, m.detail(t, c))
		}
	}
	namespace := spec.Get("writeConnectionSecretsToNamespace")
	if namespace.Exists() {
		s.remove = append(s.remove, "spec.writeConnectionSecretsToNamespace, once there are no legacy composites")
	}
	// Only legacy composites have the details of a template. If the scope is known, it decides.
	isLegacy := !ref.Exists() && (len(s.details) > 0 || namespace.Exists() || !spec.Get("pipeline").Exists())
	if x.scope != "" {
		isLegacy = x.scope == catalog.LegacyCluster
	}
	if entries = append(entries, s.details...); len(entries) == 0 {
		return
	}
	e := mapping().withText("name", s.exportName("connection"))
	if isLegacy {
		placeLegacy(e, namespace.Text(), x)
	} else {
		placeConnection(e, ref, x)
	}
	data := list(entries...).note(decide+"the Secret is created only if all of these keys resolve. Previously a "+
		"missing key was left out.", "Set optional: true on keys that may be missing permanently.")
	if slices.ContainsFunc(entries, func(n *node) bool { return strings.HasPrefix(n.field("value").value, "string(") }) {
		data.note("string(…) converts numbers and booleans: remove it around a string. An object or a list needs " +
			"json.encode(…).")
	}
	e.with("data", data)
	if twice := repeated(data.live()); len(twice) > 0 {
		data.note(decide + "these keys are written twice, and the later one wins, as before: " +
			strings.Join(twice, ", "))
		e.withText("conflictPolicy", string(v1beta1.ConflictLastWins))
	}
	if isLegacy {
		e.with("connectionDetails", rawNode(true))
	}
	s.secrets.items = append(s.secrets.items, e)
}

// repeated returns the keys that several entries have, sorted.
func repeated(entries []*node) []string {
	times := map[string]int{}
	for _, e := range entries {
		if key := e.field("key"); key != nil {
			times[key.value]++
		}
	}
	maps.DeleteFunc(times, func(_ string, n int) bool { return n == 1 })
	return slices.Sorted(maps.Keys(times))
}

// placeLegacy adds comments on the place of a legacy composite's Secret. Crossplane writes its own
// Secret with the connection details, so this Secret must have another name.
func placeLegacy(e *node, namespace string, x xr) {
	if x.scope == "" {
		e.note(decide+"connectionDetails publishes for a legacy composite, as before, to its own Secret and its "+
			"claim's.",
			"For a composite of Crossplane v2 remove connectionDetails and the namespace: there is only this Secret.")
	}
	if namespace == "" {
		e.note(decide + "set metadata.namespace for a cluster scoped composite without a claim.")
		return
	}
	e.with("metadata", mapping().withText("namespace", namespace))
}

// placeConnection names the Secret as function-patch-and-transform does for a composite of Crossplane v2:
// after the composite, then by ref of its input, whose patches change the name. The Secret has no type:
// an existing one keeps its type, and applications do not depend on it.
func placeConnection(e *node, ref decode.Value, x xr) {
	ownName := []any{"spec", "writeConnectionSecretToRef", "name"} // which a composite can set itself
	place := map[string]string{"name": "composite.metadata.name + '-connection'",
		"namespace": "composite.metadata.namespace"}
	if n := ref.Get("name").Text(); n != "" {
		place["name"] = celtext.Literal(n)
	}
	if schema, may := catalog.At(x.schema, ownName...); may {
		variable := "composite"
		if schema == nil { // a field that the schema does not have is a warning of check
			variable = "dyn(composite)"
		}
		place["name"] = celtext.Path(variable, ownName, true) + ".orValue(" + place["name"] + ")"
	}
	literal := ref.Get("namespace").Text()
	if literal != "" {
		place["namespace"] = celtext.Literal(literal)
	}
	before := place["namespace"]
	metadata := mapping()
	for _, p := range items(ref.Get("patches")) {
		to := p.Get("toFieldPath").Text()
		value, err := patched(p, place[to])
		if err != nil {
			metadata.note(fmt.Sprintf("%s%s %s: write it in CEL.", decide, p.Path, err))
			continue
		}
		place[to] = value
	}
	metadata.withText("nameExpression", place["name"])
	switch {
	case place["namespace"] != before:
		metadata.withText("namespaceExpression", place["namespace"])
	case literal != "":
		metadata.withText("namespace", literal)
	case x.scope != catalog.Namespaced:
		metadata.note(decide + "set metadata.namespace for a cluster scoped composite: previously its " +
			"spec.writeConnectionSecretToRef contained the namespace.")
	}
	if x.scope == "" {
		e.note(decide + "for a legacy composite (a composite with a claim) remove metadata, and add " +
			"connectionDetails: true. If the XRD is among the files, this is known.")
	}
	e.with("metadata", metadata).note(takenOver...)
}

// patched returns the CEL of a name or a namespace after a patch that copies a field of the composite, with one format.
func patched(p decode.Value, before string) (string, error) {
	kind, transforms := p.Get("type").Text(), items(p.Get("transforms"))
	switch {
	case before == "":
		return "", errors.New("sets neither the name nor the namespace")
	case kind != "" && kind != "FromCompositeFieldPath":
		return "", errors.New("is not of type FromCompositeFieldPath")
	case len(transforms) > 1:
		return "", errors.New("has transforms other than one string format")
	}
	path, err := parsePath(needed(p.Get("fromFieldPath")))
	if err != nil {
		return "", err
	}
	format := "%s"
	if len(transforms) == 1 {
		format = transforms[0].Get("string", "fmt").Text()
	}
	if strings.Count(format, "%") != 1 || !strings.Contains(format, "%s") {
		return "", errors.New("has transforms other than one string format")
	}
	if p.Get("policy", "fromFieldPath").Text() == "Required" {
		return celtext.Format(format, []string{celtext.Path("composite", path, false)}), nil
	}
	x := celtext.Path("composite", path, true)
	if format != "%s" {
		x += ".optMap(v, " + celtext.Format(format, []string{"v"}) + ")"
	}
	return x + ".orValue(" + before + ")", nil
}

// detail returns the entry of a connection detail. Crossplane v1 derived the type if it was not set.
func (m *migration) detail(t template, c decode.Value) *node {
	kind, key := c.Get("type").Text(), c.Get("name").Text()
	secretKey, path, value := c.Get("fromConnectionSecretKey"), c.Get("fromFieldPath"), c.Get("value")
	var cel, why string
	switch {
	case kind == "FromConnectionSecretKey", kind == "" && !path.Exists() && !value.Exists():
		if key == "" && t.isV1 {
			key = secretKey.Text()
		}
		cel = celtext.Select("secrets", t.name, needed(secretKey))
	case kind == "FromFieldPath", kind == "" && path.Exists():
		var err error
		if cel, err = m.fromField(t, needed(path)); err != nil {
			why = "fromFieldPath " + err.Error()
		}
	case kind == "FromValue", kind == "":
		literal := value.Required().Text()
		if cel = celtext.Literal(literal); literal == "" {
			why = emptyValue
		}
	default:
		c.Get("type").Refuse("must be FromConnectionSecretKey, FromFieldPath or FromValue")
	}
	if key == "" {
		needed(c.Get("name"))
	}
	return entry(key, cel).unless(why)
}

// fromField returns the CEL of a field of a composed resource as text.
func (m *migration) fromField(t template, path string) (string, error) {
	resource := celtext.Select("resources", t.name)
	list, err := parsePath(path)
	if err != nil {
		return resource + "." + path, err
	}
	x := celtext.Path(resource, list, false)
	base := t.Get("base")
	k := catalog.Kind{APIVersion: base.Get("apiVersion").Text(), Kind: base.Get("kind").Text()}
	switch typed := typeAt(m.catalog.Find(k), list...); {
	case isHidden(k, list):
		return x, errHidden
	case typed == "string", isText(list):
		return x, nil
	case typed == "object", typed == "array":
		return "json.encode(" + x + ")", nil
	}
	return "string(" + x + ")", nil
}

var errHidden = errors.New("reads the data of a composed Secret, which is hidden: add the Secret to sources")

func isHidden(k catalog.Kind, path []any) bool {
	return k == catalog.Kind{APIVersion: "v1", Kind: "Secret"} && len(path) > 0 &&
		(path[0] == "data" || path[0] == "stringData")
}

// textPath matches the CEL of paths to texts that all objects have.
var textPath = lazy.MustCompile(`^\.(apiVersion|kind|metadata\.(name|namespace|uid|` +
	`(labels|annotations)(\.\w+|\[.*\])))$`)

func isText(path []any) bool { return textPath().MatchString(celtext.Path("", path, false)) }

// parsePath parses a field path to one value, as Crossplane does. Its error does not quote the path.
func parsePath(path string) ([]any, error) {
	segments, err := fieldpath.Parse(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be parsed as a field path: %w", err)
	}
	if len(segments) == 0 {
		return nil, errors.New("must name a field")
	}
	list := make([]any, len(segments))
	for i, s := range segments {
		if s.Type == fieldpath.SegmentField && s.Field == "*" {
			return nil, errors.New("has a wildcard, which matches nothing here: name one element")
		}
		list[i] = pathStep(s)
	}
	return list, nil
}

// pathStep returns the name of a field, or an index.
func pathStep(s fieldpath.Segment) any {
	if s.Type == fieldpath.SegmentField {
		return s.Field
	}
	return int(s.Index)
}
