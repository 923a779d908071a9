package catalog

import (
	"cmp"
	_ "embed" // of schemas
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// declare returns the kinds of a CustomResourceDefinition that have a schema, or, with the scope that it has if it sets
// none, the kinds of the composite and of its claim of a CompositeResourceDefinition.
func declare(object map[string]any, preset Scope) (map[Kind]declared, error) {
	var first decode.First
	spec := decode.Value{Raw: object, Report: first.Report}.Get("spec").Required()
	group, names, claim := spec.Get("group").Required().Text(), spec.Get("names").Required(), spec.Get("claimNames")
	d := declared{composite: preset != "", scope: cmp.Or(Scope(spec.Get("scope").Text()), preset)}
	if d.composite {
		if !slices.Contains([]Scope{Namespaced, Cluster, LegacyCluster}, d.scope) {
			spec.Get("scope").Refuse("must be %s, %s or %s", Namespaced, Cluster, LegacyCluster)
			d.scope = preset
		}
		for _, key := range spec.Get("connectionSecretKeys").List() {
			d.connectionKeys = append(d.connectionKeys, key.Required().Text())
		}
		d.cluster = d.scope != Namespaced && !claim.Exists()
	}
	out := map[Kind]declared{}
	add := func(apiVersion string, names decode.Value, d declared, s *structpb.Struct) {
		d.plural, d.schema = names.Get("plural").Text(), s
		out[Kind{APIVersion: apiVersion, Kind: names.Get("kind").Required().Text()}] = d
	}
	for _, v := range spec.Get("versions").Required().List() {
		apiVersion, s := group+"/"+v.Required().Get("name").Required().Text(), v.Get("schema", "openAPIV3Schema")
		s.Get("properties", "spec", "properties").Object()
		s.Get("properties", "status", "properties").Object()
		own, err := structpb.NewStruct(s.Object())
		switch {
		case err != nil: // which quotes the value
			s.Refuse("must be JSON")
		case !d.composite && s.Exists():
			add(apiVersion, names, d, own)
		case d.composite && !s.Exists():
			s.Refuse("must be an object")
		case d.composite:
			add(apiVersion, names, d, generate(own, string(d.scope)))
			if claim.Exists() {
				add(apiVersion, claim, declared{connectionKeys: d.connectionKeys, composite: true, scope: LegacyCluster},
					generate(own, claimSchema))
			}
		}
	}
	return out, first.Err
}

//go:embed crossplane.json
var crossplane []byte

// generated are the schemas that Crossplane generates for a definition without fields of its own, by the scope of the
// composite, and that of its claim. A test compares them with those of crossplane-runtime.
var generated = sync.OnceValue(func() map[string]*structpb.Value {
	all := &structpb.Struct{}
	if err := protojson.Unmarshal(crossplane, all); err != nil {
		panic(err)
	}
	return all.GetFields()
})

// claimSchema is the name of the schema of a claim among those that Crossplane generates.
const claimSchema = "Claim"

// copied are the fields of spec and of status that Crossplane copies from the schema of a definition. It adds its own
// properties, and ignores everything else.
var copied = map[string][]string{
	"spec":   {"description", "oneOf", "required", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"},
	"status": {"description", "oneOf", "required", "x-kubernetes-validations"},
}

// generate returns the schema that Crossplane generates for a version, with its own fields in spec and status.
func generate(own *structpb.Struct, name string) *structpb.Struct {
	out := proto.CloneOf(generated()[name].GetStructValue())
	copyFields(out, own, "description", "x-kubernetes-validations")
	for part, fields := range copied {
		from, to := propertiesOf(own)[part].GetStructValue(), propertiesOf(out)[part].GetStructValue()
		copyFields(to, from, fields...)
		for name, p := range propertiesOf(from) {
			if _, reserved := propertiesOf(to)[name]; !reserved {
				propertiesOf(to)[name] = p
			}
		}
	}
	return out
}

func copyFields(to, from *structpb.Struct, names ...string) {
	for _, name := range names {
		if v, ok := from.GetFields()[name]; ok {
			to.Fields[name] = v
		}
	}
}
