// Package mention finds where a Composition refers to the names of objects that a composite author requests: in desired
// and observed composed resources.
//
// An object can be a connection Secret that a provider will write, a password that it reads, or a Secret that an
// operator creates. No list of fields covers all of these, so each text that has the name as a whole word counts.
package mention

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Mention is where the Composition refers to the name of an object of the composite author.
type Mention struct {
	Where string // which resource, and which field

	// Reads is set if the name is the value of a field that refers to a Secret, or a ConfigMap, in a resource that is
	// composed in this reconcile.
	Reads object.Kind
}

// Resources are composed resources, by their composition resource names.
type Resources map[string]wire.Struct

// Of returns where desired and observed resources refer to some names of objects in a namespace. A field that reads an
// object counts first, and then the resources that come first.
func Of(namespace string, names map[string]bool, observed Resources, desired ...Resources) map[string]Mention {
	f := &finder{namespace: namespace, names: names, found: map[string]Mention{}}
	for _, resources := range desired {
		f.resources(resources, true)
	}
	f.resources(observed, false)
	return f.found
}

type finder struct {
	namespace string
	names     map[string]bool
	found     map[string]Mention
	composed  string // the composition resource name of the resource at hand
	desired   bool
	path      []string // of the field at hand: names, and indices in brackets
}

func (f *finder) resources(objects Resources, desired bool) {
	for _, name := range plan.SortedKeys(objects) {
		if !plan.IsAuthors(name) {
			f.composed, f.desired = name, desired
			f.object(objects[name])
		}
	}
}

// notReferring is metadata that Crossplane and Kubernetes write, with the name of the composite.
var notReferring = map[string]bool{"ownerReferences": true, "managedFields": true, "generateName": true, "uid": true}

func (f *finder) object(o wire.Struct) {
	for k, v := range o.All() {
		if f.skips(o, k) {
			continue
		}
		step := k
		if strings.ContainsAny(k, "./[] ") {
			step = "[" + k + "]"
		}
		f.path = append(f.path, step)
		if strings.ContainsAny(k, "-.") && f.names[k] { // it is not a field of a schema
			f.note(k, "")
		}
		f.value(v)
		f.path = f.path[:len(f.path)-1]
	}
}

// skips reports whether a field of an object refers to nothing. Others write the status of an observed resource, which
// may describe the author's own object. The data of Secrets must not show in a message.
func (f *finder) skips(o wire.Struct, k string) bool {
	switch k {
	case "status":
		return len(f.path) == 0 && !f.desired
	case "data", "stringData":
		return o.Get("apiVersion").Is("v1") && o.Get("kind").Is(string(object.Secret))
	case "name":
		namespace := o.Get("namespace").Text()
		return namespace != "" && namespace != f.namespace
	}
	return object.IsReserved(k) || notReferring[k] && len(f.path) > 0 && f.path[len(f.path)-1] == "metadata"
}

func (f *finder) value(v wire.Value) {
	switch v.Kind() {
	case wire.Array:
		for i, e := range v.List().All() {
			f.path = append(f.path, "["+strconv.Itoa(i)+"]")
			f.value(e)
			f.path = f.path[:len(f.path)-1]
		}
	case wire.Object:
		f.object(v.Struct())
	default:
		f.text(v.Text())
	}
}

// escaped is an escaped character in JSON within a text, or in a URL.
var escaped = lazy.MustCompile(`\\u[0-9a-fA-F]{4}|\\.|%[0-9a-fA-F]{2}`)

// text looks for names in a text: all of it, or a word of a path, a manifest, or the values of a Helm release. A name
// and its namespace can be one word, and a dot can end a sentence.
func (f *finder) text(text string) {
	if f.names[text] {
		f.note(text, f.reads())
		return
	}
	if strings.ContainsAny(text, `\%`) { // which may also precede a name without an escape
		text += " " + escaped().ReplaceAllString(text, " ")
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !isWord(r) }) {
		word = strings.Trim(word, ".")
		before, after := strings.TrimSuffix(word, "."+f.namespace), strings.TrimPrefix(word, f.namespace+".")
		for _, name := range []string{word, before, after} {
			if f.names[name] {
				f.note(name, "")
			}
		}
	}
}

func isWord(c rune) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || c == '-' || c == '.' || c == '_'
}

// reads returns the kind that the field at hand refers to, by the nearest name that says it: secretRef,
// writeConnectionSecretToRef, imagePullSecrets, configMapKeyRef, secretName.
func (f *finder) reads() object.Kind {
	for i := len(f.path) - 1; i >= 0 && f.desired; i-- {
		switch lower := strings.ToLower(f.path[i]); {
		case strings.Contains(lower, "secret"):
			return object.Secret
		case strings.Contains(lower, "configmap"):
			return object.ConfigMap
		}
	}
	return ""
}

func (f *finder) note(name string, reads object.Kind) {
	if before, ok := f.found[name]; !ok || before.Reads == "" && reads != "" {
		where := strings.ReplaceAll(strings.Join(f.path, "."), ".[", "[")
		where = fmt.Sprintf("the composed resource %q refers to that name in %s", f.composed, where)
		f.found[name] = Mention{where, reads}
	}
}
