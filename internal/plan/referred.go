package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A mention is where the Composition refers to a name that a composite's author asks for.
type mention struct {
	where string // who, and in which field

	// sure is set if the field says that it refers to a Secret, or a ConfigMap, of that
	// name; and desired if the resource is composed in this reconcile.
	sure, desired bool
}

// mentions are the names that the author of a composite asks for, and where the
// Composition refers to them: in sources, and in the composed resources, desired or
// observed. It may be a connection Secret that a provider is going to write, a password
// that it reads, or a Secret that an operator makes. No list of fields has them all, so
// each text counts that has the name in it.
type mentions struct {
	namespace string          // the composite's own
	names     map[string]bool // that are asked for
	lengths   [validation.DNS1123SubdomainMaxLength + 1]bool
	found     map[target]mention

	who     string // whose fields are walked
	desired bool
	path    []string
}

// A spot is what a field says about the texts in it.
type spot struct {
	refers   object.Kind // what a name in it is of; both kinds if it is empty
	metadata bool        // it is the metadata of an object
	status   bool        // it is in the status of a resource, which others write
}

// mentioned finds where the Composition refers to the names of exports.
func (r *run) mentioned(exports []export, out *Result) map[target]mention {
	m := &mentions{namespace: r.namespace, names: map[string]bool{}, found: map[target]mention{}}
	for _, e := range exports {
		m.names[e.metadata.name], m.lengths[len(e.metadata.name)] = true, true
	}
	if len(m.names) == 0 {
		return nil
	}
	for _, s := range r.sourcesRead {
		if s.APIVersion == "v1" && s.Namespace == r.namespace && m.names[s.Name] {
			m.found[target{object.Kind(s.Kind), s.Namespace, s.Name}] = mention{where: "a source of the Composition refers to it"}
		}
	}
	for _, composed := range sortedKeys(r.Desired) {
		if !isTenants(composed) {
			m.resource(composed, r.Desired[composed], true)
		}
	}
	for _, g := range out.Generations {
		m.resource(g.Name, wire.Of(g.Desired), true)
	}
	for _, o := range out.Objects {
		m.resource(o.Name, wire.Of(o.Desired), true)
	}
	for _, composed := range sortedKeys(r.Observation.Resources) {
		m.resource(composed, r.Observation.Resources[composed].Object, false)
	}
	for _, composed := range sortedKeys(r.generations) {
		m.resource(composed, r.generations[composed].Object, false)
	}
	return m.found
}

// resource walks a composed resource.
func (m *mentions) resource(composed string, o wire.Struct, desired bool) {
	m.who, m.desired, m.path = fmt.Sprintf("the composed resource %q", composed), desired, m.path[:0]
	m.object(o, spot{})
}

func (m *mentions) value(v wire.Value, in spot) {
	switch v.Kind() {
	case wire.Text:
		m.text(v.Text(), in)
	case wire.Array:
		for i, e := range v.List().All() {
			m.below(fmt.Sprintf("[%d]", i), e, in)
		}
	case wire.Object:
		m.object(v.Struct(), in)
	}
}

// below walks a field, or an item of a list.
func (m *mentions) below(step string, v wire.Value, in spot) {
	m.path = append(m.path, step)
	m.value(v, in)
	m.path = m.path[:len(m.path)-1]
}

func (m *mentions) object(o wire.Struct, in spot) {
	apiVersion, kind, _, _ := object.Identity(o)
	isSecret := apiVersion == "v1" && object.Kind(kind) == object.Secret
	namespace := o.Get("namespace").Text()
	for k, v := range o.All() {
		at := spot{refers: referredKind(k), status: in.status || len(m.path) == 0 && k == "status" && !m.desired}
		switch {
		case in.metadata && notReferring[k], isSecret && (k == "data" || k == "stringData"), object.IsReserved(k):
			continue
		case k == "name" && namespace != "" && namespace != m.namespace:
			continue // of an object that is elsewhere
		case k == "name" && kind != "":
			at.refers = referredBy(kind)
		case k == "name":
			at.refers = in.refers
		case k == "metadata":
			at.metadata = true
			if apiVersion == "v1" {
				at.refers = referredBy(kind)
			}
		case strings.ContainsAny(k, "-.") && m.names[k]: // no field of a schema is called so
			m.note(k, mention{where: m.where(k)}, spot{status: at.status})
		}
		m.below(k, v, at)
	}
}

// notReferring is metadata that Crossplane and Kubernetes write: it has the name of the
// composite in it.
var notReferring = map[string]bool{"ownerReferences": true, "managedFields": true, "generateName": true, "uid": true} //nolint:gochecknoglobals // a table

// referredKind is what a field refers to by its name, if that says it: secretRef,
// writeConnectionSecretToRef, imagePullSecrets, configMapKeyRef, secretName.
func referredKind(field string) object.Kind {
	field = strings.ToLower(field)
	secret, configMap := strings.Contains(field, "secret"), strings.Contains(field, "configmap")
	switch {
	case secret && !configMap:
		return object.Secret
	case configMap && !secret:
		return object.ConfigMap
	}
	return ""
}

// referredBy is what a name beside a kind refers to. It may make a Secret of its own
// name, if it is none.
func referredBy(kind string) object.Kind {
	switch k := object.Kind(kind); k {
	case object.Secret, object.ConfigMap:
		return k
	}
	return ""
}

// text looks for names in a text: all of it, or a word of a path, of a manifest, or of
// the values of a Helm release.
func (m *mentions) text(text string, in spot) {
	if m.has(text) {
		m.note(text, mention{where: m.where(""), sure: in.refers != ""}, in)
		return
	}
	words(text, func(word string) {
		if m.has(word) {
			m.note(word, mention{where: m.where("")}, spot{status: in.status})
		}
	})
}

func (m *mentions) has(word string) bool {
	return len(word) < len(m.lengths) && m.lengths[len(word)] && m.names[word]
}

// note where a name is. The first place counts, and a sure one more than others. In the
// status of a resource only a sure one does: it may tell of the author's own object.
func (m *mentions) note(name string, found mention, in spot) {
	found.desired = m.desired
	if in.status && !found.sure {
		return
	}
	for _, kind := range []object.Kind{object.Secret, object.ConfigMap} {
		t := target{kind, m.namespace, name}
		if before, ok := m.found[t]; (in.refers == "" || in.refers == kind) && (!ok || before.weight() < found.weight()) {
			m.found[t] = found
		}
	}
}

// weight is greater for a mention that tells more.
func (m mention) weight() int {
	switch {
	case m.givesWay():
		return 2
	case m.sure:
		return 1
	}
	return 0
}

// givesWay reports whether an object that was there before is let go of.
func (m mention) givesWay() bool { return m.sure && m.desired }

// where is the field at hand, or one below it.
func (m *mentions) where(below string) string {
	var b strings.Builder
	for _, step := range append(m.path[:len(m.path):len(m.path)], below) {
		switch {
		case step == "":
		case strings.HasPrefix(step, "["):
			b.WriteString(step)
		case strings.ContainsAny(step, "./[] "):
			b.WriteString("[" + step + "]")
		case b.Len() > 0:
			b.WriteString("." + step)
		default:
			b.WriteString(step)
		}
	}
	return fmt.Sprintf("%s refers to that name in %s", m.who, b.String())
}

// words of a text that may be names: letters, digits, '-', '.' and '_', without the dot
// that ends a sentence. In JSON within JSON an escaped character may be in front of one.
func words(text string, yield func(string)) {
	start := -1
	for i := range len(text) + 1 {
		if i < len(text) && isWord(text[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start < 0 {
			continue
		}
		word := text[start:i]
		yield(strings.Trim(word, "."))
		if start > 0 {
			for _, n := range escaped[text[start-1]] {
				if n < len(word) {
					yield(strings.Trim(word[n:], "."))
				}
			}
		}
		start = -1
	}
}

// escaped is how many characters belong to the one before them: \n and \u0022, %2F.
var escaped = map[byte][]int{'\\': {1, 5}, '%': {2}} //nolint:gochecknoglobals // a table

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || c == '-' || c == '.' || c == '_'
}
