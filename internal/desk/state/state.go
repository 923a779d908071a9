// Package state has what a cluster has, as far as files that kubectl printed or the user's own kubectl show it: which
// composites use a Composition, which revision each of them uses, and what Crossplane would show the functions of its
// pipeline.
//
// It guesses no value. A Secret that is left out or masked is unknown, and is reported as such.
package state

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Ref identifies an object.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// String returns the kind, the namespace and the name.
func (r Ref) String() string {
	return r.Kind + " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
}

// group returns the API group. Versions of a kind are the same objects.
func (r Ref) group() string { return object.GroupOf(r.APIVersion) }

// object returns the object with nothing but its identity.
func (r Ref) object() map[string]any {
	metadata := map[string]any{"name": r.Name, "namespace": r.Namespace}
	return map[string]any{"apiVersion": r.APIVersion, "kind": r.Kind, "metadata": metadata}
}

// Key returns what identifies the object in a simulation.
func (r Ref) Key() string {
	return strings.Join([]string{r.APIVersion, r.Kind, r.Namespace, r.Name}, "|")
}

// RefIn identifies an object that was read from YAML or JSON.
func RefIn(o map[string]any) Ref {
	return Ref{Text(o, "apiVersion"), Text(o, "kind"), Text(o, "metadata", "namespace"), Text(o, "metadata", "name")}
}

// RefOf identifies an object of a simulation.
func RefOf(o *structpb.Struct) Ref {
	apiVersion, kind, namespace, name := object.Identity(wire.Of(o))
	return Ref{apiVersion, kind, namespace, name}
}

// Selected is what a function requires, without labels.
func Selected(s *fnv1.ResourceSelector) Ref {
	return Ref{s.GetApiVersion(), s.GetKind(), s.GetNamespace(), s.GetMatchName()}
}

// place returns what identifies the object, whatever version it is read in.
func (r Ref) place() Ref {
	r.APIVersion = r.group()
	return r
}

// isSecret reports whether the object is a Secret of Kubernetes.
func (r Ref) isSecret() bool { return r.APIVersion == "v1" && r.Kind == "Secret" }

// An Object is an object, which is decoded when it is needed: a cluster has many.
type Object struct {
	Ref

	labels labels.Set
	raw    []byte // JSON
	hidden []string
}

// Map returns the object. The caller may change it.
func (o *Object) Map() map[string]any {
	var out map[string]any
	_ = json.Unmarshal(o.raw, &out) // it was encoded here
	return out
}

// Struct returns the object as functions see it. The caller may change it.
func (o *Object) Struct() *structpb.Struct { return world.StructOf(o.Map()) }

// A State has objects. Several goroutines may use it.
type State struct {
	Complete bool // a Secret that is not here does not exist

	mu      sync.Mutex
	objects map[Ref]*Object   // by place
	kinds   map[Ref][]*Object // by group and kind
	cluster *cluster          // reads more; nil for files
}

// New returns a state without objects.
func New() *State {
	return &State{objects: map[Ref]*Object{}, kinds: map[Ref][]*Object{}}
}

// Add adds an object, in place of another one with the same identity.
func (s *State) Add(o map[string]any) {
	out := &Object{Ref: RefIn(o), labels: Texts(Field(o, "metadata", "labels"))}
	if out.isSecret() && !s.Complete {
		out.hidden = hide(o)
	}
	out.raw, _ = json.Marshal(o) //nolint:errchkjson // it was decoded from YAML or JSON
	s.mu.Lock()
	defer s.mu.Unlock()
	at, kind := out.place(), Ref{APIVersion: out.group(), Kind: out.Kind}
	if was := s.objects[at]; was != nil {
		s.kinds[kind] = slices.DeleteFunc(s.kinds[kind], func(o *Object) bool { return o == was })
	}
	s.objects[at] = out
	s.kinds[kind] = append(s.kinds[kind], out)
}

// Len returns the number of objects.
func (s *State) Len() int { return len(s.objects) }

// Find returns an object, in whatever version it was read, or nil.
func (s *State) Find(r Ref) *Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[r.place()]
}

// OfKind returns the objects of a kind in all namespaces, by namespace and name.
func (s *State) OfKind(group, kind string) []*Object {
	s.mu.Lock()
	out := slices.Clone(s.kinds[Ref{APIVersion: group, Kind: kind}])
	s.mu.Unlock()
	slices.SortFunc(out, func(a, b *Object) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

// Select answers what a function requires, as Crossplane does: an object by its name, or objects by their labels in one
// namespace or in all.
func (s *State) Select(sel *fnv1.ResourceSelector) []*Object {
	s.want(sel)
	of := Selected(sel)
	if sel.GetMatchLabels() == nil && of.Name != "" {
		if o := s.Find(of); o != nil {
			return []*Object{o}
		}
		return nil
	}
	match := labels.SelectorFromSet(sel.GetMatchLabels().GetLabels())
	return slices.DeleteFunc(s.OfKind(of.group(), of.Kind), func(o *Object) bool {
		return of.Namespace != "" && o.Namespace != of.Namespace || !match.Matches(o.labels)
	})
}

// IsUnknown reports whether the data of a Secret is not known: it is left out, or masked.
func (s *State) IsUnknown(r Ref) bool {
	o := s.Find(r)
	return r.isSecret() && (o == nil && !s.Complete || o != nil && o.hidden != nil)
}

// HiddenKeys returns the keys of a masked Secret whose values are not known.
func (s *State) HiddenKeys(r Ref) []string {
	if o := s.Find(r); o != nil {
		return o.hidden
	}
	return nil
}

// Field returns the value at a path, or nil.
func Field(o map[string]any, path ...string) any {
	var v any = o
	for _, name := range path {
		fields, _ := v.(map[string]any)
		v = fields[name]
	}
	return v
}

// Text returns the text at a path, or nothing.
func Text(o map[string]any, path ...string) string {
	s, _ := Field(o, path...).(string)
	return s
}

// Texts returns the texts of a map.
func Texts(v any) map[string]string {
	fields, _ := v.(map[string]any)
	out := make(map[string]string, len(fields))
	for key, v := range fields {
		if text, ok := v.(string); ok {
			out[key] = text
		}
	}
	return out
}

// Read adds the objects of a file of kubectl get -o yaml or -o json, and returns their number. A document that is not
// an object of Kubernetes is left out. An error has the position, and quotes no value.
func (s *State) Read(name, content string) (int, error) {
	n, decoder := 0, yaml.NewYAMLOrJSONDecoder(strings.NewReader(document.Text(content)), 1<<16)
	for {
		var v any
		switch err := decoder.Decode(&v); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			if _, wrong := document.Parse(content); len(wrong) > 0 {
				return n, fmt.Errorf("%s:%w", name, wrong[0])
			}
			return n, fmt.Errorf("%s: not valid YAML", name)
		}
		n += s.addAll(v)
	}
}

// addAll adds an object, or the items of a list, and returns their number.
func (s *State) addAll(v any) int {
	o, _ := v.(map[string]any)
	kind := Text(o, "kind")
	items, isList := o["items"].([]any)
	switch {
	case isList && strings.HasSuffix(kind, "List"):
		n := 0
		for _, item := range items {
			if of, ok := item.(map[string]any); ok && of["kind"] == nil { // as in the answer of an API server
				of["apiVersion"], of["kind"] = o["apiVersion"], strings.TrimSuffix(kind, "List")
			}
			n += s.addAll(item)
		}
		return n
	case kind == "" || Text(o, "apiVersion") == "" || Text(o, "metadata", "name") == "":
		return 0
	}
	s.Add(o)
	return 1
}

// masked matches what tools write in place of the value of a Secret.
var masked = lazy.MustCompile(
	`(?i)^\s*(\*+|x{3,}|\.{3}|[<\[(*{]*\s*(redacted|masked|hidden|omitted|removed|sensitive|\d+ bytes)\b.*)\s*$`)

// hide removes the values of a masked Secret, and moves stringData into data. It returns the keys that have no value,
// or nil if all have one. A Secret without data is masked as a whole.
func hide(o map[string]any) []string {
	data, _ := o["data"].(map[string]any)
	plain, _ := o["stringData"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for key, v := range plain {
		text, _ := v.(string)
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	hidden := []string{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if isMasked(data[key]) {
			hidden = append(hidden, key)
			delete(data, key)
		}
	}
	delete(o, "stringData")
	o["data"] = data
	if len(hidden) == 0 && len(data) > 0 {
		return nil
	}
	return hidden
}

func isMasked(v any) bool {
	text, _ := v.(string)
	b, err := base64.StdEncoding.DecodeString(text)
	return v == nil || err != nil || masked().MatchString(text) || masked().MatchString(string(b))
}
