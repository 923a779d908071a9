package catalog

import (
	"cmp"
	_ "embed" // of schemas
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// A definition has the fields that a CustomResourceDefinition and a CompositeResourceDefinition share.
type definition struct {
	spec                decode.Value
	group, kind, plural string
	versions            []version
}

type version struct {
	name   string
	at     decode.Path    // of its schema
	schema map[string]any // nil without one
}

// define reads a definition. Its spec reports to first.
func define(object map[string]any, first *decode.First) definition {
	spec := decode.Value{Raw: object, Report: first.Report}.Get("spec").Required()
	d := definition{spec: spec, group: spec.Get("group").Required().Text()}
	d.kind, d.plural = namesOf(spec.Get("names").Required())
	for _, v := range spec.Get("versions").Required().List() {
		v = v.Required()
		s := v.Get("schema", "openAPIV3Schema")
		s.Get("properties", "spec", "properties").Object()
		s.Get("properties", "status", "properties").Object()
		d.versions = append(d.versions, version{v.Get("name").Required().Text(), s.Path, s.Object()})
	}
	return d
}

func namesOf(names decode.Value) (kind, plural string) {
	return names.Get("kind").Required().Text(), names.Get("plural").Text()
}

func (d definition) named(v version, kind string) Kind {
	return Kind{APIVersion: d.group + "/" + v.name, Kind: kind}
}

// resources returns the kinds of a CustomResourceDefinition that have a schema.
func resources(object map[string]any) (map[Kind]declared, error) {
	var first decode.First
	d := define(object, &first)
	scope := Scope(d.spec.Get("scope").Text())
	if first.Err != nil {
		return nil, first.Err
	}
	out := map[Kind]declared{}
	for _, v := range d.versions {
		if v.schema == nil {
			continue
		}
		s, err := structpb.NewStruct(v.schema)
		if err != nil { // which quotes the value
			return nil, fmt.Errorf("cannot read %s: must be JSON", v.at)
		}
		out[d.named(v, d.kind)] = declared{schema: s, plural: d.plural, scope: scope}
	}
	return out, nil
}

// composites returns the kinds of a CompositeResourceDefinition: the kinds of the composite and of its claim.
func composites(object map[string]any, scope Scope) (map[Kind]declared, error) {
	var first decode.First
	d := define(object, &first)
	scope = cmp.Or(Scope(d.spec.Get("scope").Text()), scope)
	if scope != Namespaced && scope != Cluster && scope != LegacyCluster {
		d.spec.Get("scope").Refuse("must be %s, %s or %s", Namespaced, Cluster, LegacyCluster)
	}
	claim, claims := "", ""
	if names := d.spec.Get("claimNames"); names.Exists() {
		claim, claims = namesOf(names)
	}
	var keys []string //nolint:prealloc // nil if there are none: Crossplane publishes all then
	for _, key := range d.spec.Get("connectionSecretKeys").List() {
		keys = append(keys, key.Required().Text())
	}
	if first.Err != nil {
		return nil, first.Err
	}
	out := map[Kind]declared{}
	for _, v := range d.versions {
		s, err := generate(v, string(scope))
		if err != nil {
			return nil, err
		}
		out[d.named(v, d.kind)] = declared{
			schema: s, connectionKeys: keys, plural: d.plural, composite: true, scope: scope,
			cluster: scope != Namespaced && claim == "",
		}
		if claim == "" {
			continue
		}
		if s, err = generate(v, claimSchema); err != nil {
			return nil, err
		}
		out[d.named(v, claim)] = declared{schema: s, connectionKeys: keys, plural: claims, composite: true,
			scope: LegacyCluster}
	}
	return out, nil
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
func generate(v version, name string) (*structpb.Struct, error) {
	if v.schema == nil {
		return nil, fmt.Errorf("cannot read %s: must be an object", v.at)
	}
	own, err := structpb.NewStruct(v.schema)
	if err != nil { // which quotes the value
		return nil, fmt.Errorf("cannot read %s: must be JSON", v.at)
	}
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
	return out, nil
}

func copyFields(to, from *structpb.Struct, names ...string) {
	for _, name := range names {
		if v, ok := from.GetFields()[name]; ok {
			to.Fields[name] = v
		}
	}
}
