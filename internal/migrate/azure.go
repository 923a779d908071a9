package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/expression"
)

// azureDocument is a resource of Azure Service Operator on its own.
func (m *migration) azureDocument(c cursor) *step {
	name := c.get("metadata", "name").text()
	s := newStep()
	s.above = []string{title(c), "Put it behind the step that composes the resource."}
	s.taken[name] = true
	m.azure(s, c, name, func(path string) string {
		return fmt.Sprintf("%s of %s %s", path, c.get("kind").text(), name)
	})
	if s.empty() {
		return nil
	}
	if name == "" {
		c.get("metadata", "name").needed()
	}
	s.above = slices.Insert(s.above, 2, fmt.Sprintf("%sthe composed resource is called %s here: have from say its name in the pipeline.", decide, name))
	return s
}

// azure adds what a resource of Azure Service Operator exports. The name is that of
// the composed resource; of says where a field of it is.
func (m *migration) azure(s *step, c cursor, name string, of func(path string) string) {
	spec := c.get("spec", "operatorSpec")
	x := azure{m, s, name}
	for _, kind := range []struct {
		expressions, fields string
		to                  *node
	}{
		{"secretExpressions", "secrets", s.secrets},
		{"configMapExpressions", "configMaps", s.configMaps},
	} {
		objects := map[string]*azureObject{}
		var order []string
		object := func(c cursor) *azureObject {
			to := c.get("name").needed()
			if objects[to] == nil {
				objects[to] = &azureObject{name: to, labels: map[string]string{}, annotations: map[string]string{}}
				order = append(order, to)
			}
			return objects[to]
		}
		for _, e := range spec.get(kind.expressions).items() {
			x.expression(object(e), e, kind.to == s.secrets)
		}
		fields := spec.get(kind.fields)
		for _, field := range fields.names() {
			e := fields.member(field)
			if kind.to == s.secrets {
				x.written(object(e), e)
				continue
			}
			object(e).known(e, selected(expression.Resource+".status", field), field)
		}
		if spec.get(kind.expressions).there() {
			s.remove = append(s.remove, of("spec.operatorSpec."+kind.expressions))
		}
		if kind.to == s.configMaps && fields.there() {
			s.remove = append(s.remove, of("spec.operatorSpec."+kind.fields))
		}
		for _, to := range order {
			kind.to.items = append(kind.to.items, x.export(objects[to]))
		}
	}
}

// azure is a resource of Azure Service Operator on its way.
type azure struct {
	migration *migration
	step      *step
	resource  string // its name in the pipeline
}

// An azureObject is a Secret or ConfigMap that several entries write.
type azureObject struct {
	name                string
	data                []*node
	labels, annotations map[string]string
	secret              bool   // an entry reads the resource's secrets
	evaluated           bool   // an entry is an expression over the resource
	source              string // the Secret of this name that the operator goes on writing, as a source
}

// expression is an entry of secretExpressions or configMapExpressions. Without a key
// it gives several.
func (x azure) expression(o *azureObject, c cursor, secret bool) {
	n, value := mapping(), c.get("value").needed()
	if key := c.get("key").text(); key != "" {
		n.withText("key", key).withText("value", value)
	} else {
		n.withText("valueMap", value)
	}
	o.data = append(o.data, n)
	o.evaluated = true
	o.secret = o.secret || secret && x.readsSecret(value)
	maps.Copy(o.labels, c.get("labels").texts())
	maps.Copy(o.annotations, c.get("annotations").texts())
}

func (x azure) readsSecret(text string) bool {
	e, _ := x.migration.env.Compile(expression.Source{Text: text, Want: expression.WantAny})
	if e == nil {
		return false
	}
	for _, r := range e.References() {
		if r.Variable == expression.Secret {
			return true
		}
	}
	return false
}

// known is an output that the operator itself knows how to get.
func (o *azureObject) known(c cursor, value, output string) {
	n := mapping().with("key", textNode(c.get("key").needed())).with("value", textNode(value))
	n.note(fmt.Sprintf("%sthe operator knows where %s comes from, which depends on the kind: say which key, or which field, it is.", decide, output))
	o.data = append(o.data, n)
	o.evaluated = true
}

// written is a secret that only the operator can get. It goes on writing its Secret,
// which is a source here.
func (x azure) written(o *azureObject, c cursor) {
	if o.source == "" {
		o.source = x.step.exportName(o.name)
		x.step.sources.items = append(x.step.sources.items, mapping().withText("name", o.source).
			withText("apiVersion", "v1").withText("kind", "Secret").withText("matchName", o.name))
	}
	key := c.get("key").needed()
	o.data = append(o.data, mapping().withText("key", key).with("value", textNode(selected("secrets", o.source, key))))
}

func (x azure) export(o *azureObject) *node {
	e := mapping().withText("name", x.step.exportName(o.name))
	metadata := mapping()
	if o.source == "" {
		metadata = x.step.literalName(o.name)
	} else {
		e.note(decide + "keep operatorSpec.secrets: the operator goes on writing the Secret of that name, and this one has another, with the same keys. Drop it if nobody needs it.")
	}
	x.texts(metadata, "labels", o.labels)
	x.texts(metadata, "annotations", o.annotations)
	if o.secret {
		e.note(fmt.Sprintf("%ssecret is the connection details of %s, and a resource of the operator has none: compose it by a provider of Crossplane,", decide, x.resource),
			"with writeConnectionSecretToRef, or have operatorSpec.secrets write a Secret, and read that as one of sources.")
	}
	if len(metadata.fields) > 0 {
		e.with("metadata", metadata)
	}
	if o.evaluated {
		e.withText("from", x.resource)
	}
	return e.with("data", list(o.data...))
}

// texts are labels or annotations. One that is an expression for a string is
// evaluated, as there.
func (x azure) texts(metadata *node, field string, texts map[string]string) {
	plain := map[string]string{}
	var computed []string
	for _, k := range sortedKeys(texts) {
		if _, faults := x.migration.env.Compile(expression.Source{Text: texts[k], Want: expression.WantString}); len(faults) > 0 {
			plain[k] = texts[k]
			continue
		}
		computed = append(computed, literal(k)+": "+texts[k])
	}
	metadata.with(field, stringMap(plain))
	if len(computed) > 0 {
		metadata.with(field+"Expression", textNode("{"+strings.Join(computed, ", ")+"}"))
	}
}

// literalName is the metadata of an object that is called what it was called before.
func (s *step) literalName(name string) *node {
	const why = decide + "metadata.name makes one object: with several composites in a namespace leave it out."
	if !slices.Contains(s.above, why) {
		s.above = append(s.above, why)
	}
	return mapping().withText("name", name)
}
