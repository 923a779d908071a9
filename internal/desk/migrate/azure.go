package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// isAzure reports whether Azure Service Operator has the type.
func isAzure(apiVersion string) bool {
	group, _, ok := strings.Cut(apiVersion, "/")
	return ok && strings.HasSuffix(group, ".azure.com")
}

// azureDocument returns the step of a resource of Azure Service Operator that is a document.
func (m *migration) azureDocument(c decode.Value) *step {
	name := c.Get("metadata", "name").Text()
	s := newStep("Put it after the step that composes the resource.")
	s.taken[name] = true
	m.azure(s, c, name, func(path string) string {
		return fmt.Sprintf("%s of %s %s", path, c.Get("kind").Text(), name)
	})
	if s.empty() {
		return nil
	}
	needed(c.Get("metadata", "name"))
	s.above = slices.Insert(s.above, 1, fmt.Sprintf("%sthe composed resource is called %s here: set from to its name "+
		"in the pipeline.", decide, name))
	return s
}

// azure adds the exports of a resource of Azure Service Operator. The name is that of the composed
// resource. The function of returns the position of a field.
func (m *migration) azure(s *step, c decode.Value, name string, of func(path string) string) {
	spec := c.Get("spec", "operatorSpec")
	for _, kind := range []struct {
		expressions, fields string
		to                  *node
	}{
		{"secretExpressions", "secrets", s.secrets},
		{"configMapExpressions", "configMaps", s.configMaps},
	} {
		isSecret := kind.to == s.secrets
		var objects []*azureObject
		object := func(c decode.Value) *azureObject {
			to := needed(c.Get("name"))
			i := slices.IndexFunc(objects, func(o *azureObject) bool { return o.name == to })
			if i < 0 {
				i, objects = len(objects), append(objects, &azureObject{migration: m, step: s, resource: name, name: to,
					labels: map[string]string{}, annotations: map[string]string{}})
			}
			return objects[i]
		}
		expressions, fields := spec.Get(kind.expressions), spec.Get(kind.fields)
		for _, e := range items(expressions) {
			object(e).expression(e, isSecret)
		}
		for _, field := range fields.Keys() {
			if e := fields.Get(field); isSecret {
				object(e).written(e)
			} else {
				object(e).known(e, field)
			}
		}
		if expressions.Exists() {
			s.remove = append(s.remove, of("spec.operatorSpec."+kind.expressions))
		}
		if !isSecret && fields.Exists() {
			s.remove = append(s.remove, of("spec.operatorSpec."+kind.fields))
		}
		for _, o := range objects {
			kind.to.items = append(kind.to.items, o.export())
		}
	}
}

// An azureObject is a Secret or ConfigMap that several entries of a resource write.
type azureObject struct {
	migration           *migration
	step                *step
	resource            string // its name in the pipeline
	name                string
	data                []*node
	labels, annotations map[string]string
	secret              bool   // an entry reads the resource's secrets
	evaluated           bool   // an entry is an expression that reads the resource
	source              string // the Secret that the operator still writes, as a source
}

// expression adds an entry of secretExpressions or configMapExpressions. Without a key it has several
// values.
func (o *azureObject) expression(c decode.Value, isSecret bool) {
	value := needed(c.Get("value"))
	if key := c.Get("key").Text(); key != "" {
		o.data = append(o.data, entry(key, value))
	} else {
		o.data = append(o.data, mapping().withText("valueMap", value))
	}
	o.evaluated = true
	o.secret = o.secret || isSecret && strings.Contains(value, expression.Secret+".")
	maps.Copy(o.labels, texts(c.Get("labels")))
	maps.Copy(o.annotations, texts(c.Get("annotations")))
}

// known adds an output whose field only the operator knows.
func (o *azureObject) known(c decode.Value, output string) {
	n := entry(needed(c.Get("key")), celtext.Select(expression.Resource+".status", output))
	n.note(fmt.Sprintf("%sonly the operator knows where %s comes from, because it depends on the kind: write which "+
		"key or field it is.", decide, output))
	o.data = append(o.data, n)
	o.evaluated = true
}

// written adds a secret that only the operator can read. The operator still writes its Secret, which
// becomes a source.
func (o *azureObject) written(c decode.Value) {
	if o.source == "" {
		o.source = o.step.exportName(o.name)
		o.step.source(o.source, o.name)
	}
	key := needed(c.Get("key"))
	o.data = append(o.data, entry(key, celtext.Select("secrets", o.source, key)))
}

func (o *azureObject) export() *node {
	e := mapping().withText("name", o.step.exportName(o.name))
	metadata := mapping()
	if o.source == "" {
		metadata = o.step.literalName(o.name)
	} else {
		e.note(decide + "keep operatorSpec.secrets: the operator still writes the Secret with that name, and this " +
			"Secret has another name and the same keys. Remove this export if it is not needed.")
	}
	o.texts(metadata, "labels", o.labels)
	o.texts(metadata, "annotations", o.annotations)
	if o.secret {
		e.note(fmt.Sprintf("%ssecret has the connection details of %s, and a resource of the operator has none: "+
			"compose it with a Crossplane provider,", decide, o.resource),
			"with writeConnectionSecretToRef, or let operatorSpec.secrets write a Secret, and read that Secret as "+
				"one of sources.")
	}
	if len(metadata.fields) > 0 {
		e.with("metadata", metadata)
	}
	if o.evaluated {
		e.withText("from", o.resource)
	}
	return e.with("data", list(o.data...))
}

// texts adds labels or annotations. Those that are expressions of type string are evaluated, as the operator does.
func (o *azureObject) texts(metadata *node, field string, texts map[string]string) {
	plain, computed := map[string]string{}, map[string]string{}
	for k, text := range texts {
		to := computed
		if _, wrong := o.migration.env.Compile(expression.Source{Text: text, Want: expression.WantString}); len(wrong) > 0 {
			to = plain
		}
		to[k] = text
	}
	metadata.withTexts(field, plain, computed)
}

// literalName returns the metadata of an object that keeps its name.
func (s *step) literalName(name string) *node {
	const why = decide + "metadata.name is the name of one object: if a namespace has several composites, remove it."
	if !slices.Contains(s.above, why) {
		s.above = append(s.above, why)
	}
	return mapping().withText("name", name)
}
