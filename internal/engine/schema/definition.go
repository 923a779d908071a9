package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	v1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"google.golang.org/protobuf/types/known/structpb"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

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

// kindName is the form of a kind that the API server accepts.
var kindName = regexp.MustCompile(`^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$`)

// define reads a definition. Its spec reports to first.
func define(object map[string]any, first *decode.First) definition {
	spec := decode.Value{Raw: object, Report: first.Report}.Get("spec").Required()
	d := definition{spec: spec, group: spec.Get("group").Required().Text()}
	d.kind, d.plural = namesOf(spec.Get("names").Required())
	for _, v := range spec.Get("versions").Required().List() {
		v = v.Required()
		s := v.Get("schema", "openAPIV3Schema")
		d.versions = append(d.versions, version{v.Get("name").Required().Text(), s.Path, s.Object()})
	}
	return d
}

func namesOf(names decode.Value) (kind, plural string) {
	kind = names.Get("kind").Required().Text()
	if !kindName.MatchString(kind) {
		names.Get("kind").Refuse("must be letters, digits and '-'")
	}
	return kind, names.Get("plural").Text()
}

func (d definition) named(v version, kind string) Kind { return Kind{d.group + "/" + v.name, kind} }

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
	claim, claims := "", ""
	if names := d.spec.Get("claimNames"); names.Exists() {
		claim, claims = namesOf(names)
		if claim == d.kind {
			names.Get("kind").Refuse("must not be the composite's kind")
		}
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
		s, err := d.generated(v, scope, "")
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
		if s, err = d.generated(v, scope, claim); err != nil {
			return nil, err
		}
		out[d.named(v, claim)] = declared{schema: s, connectionKeys: keys, plural: claims, composite: true, scope: LegacyCluster}
	}
	return out, nil
}

// generated returns the schema that Crossplane generates for a version, with its own fields in spec
// and status. It is the composite's if claim is empty.
func (d definition) generated(v version, scope Scope, claim string) (*structpb.Struct, error) {
	raw, err := json.Marshal(v.schema)
	if err != nil || v.schema == nil {
		return nil, fmt.Errorf("cannot read %s: must be an object", v.at)
	}
	x := &v1.CompositeResourceDefinition{}
	x.Spec = v1.CompositeResourceDefinitionSpec{
		Group: d.group,
		Names: extv1.CustomResourceDefinitionNames{Kind: d.kind, Plural: strings.ToLower(d.kind)},
		Scope: new(v1.CompositeResourceScope(scope)),
		Versions: []v1.CompositeResourceDefinitionVersion{{
			Name: v.name, Schema: &v1.CompositeResourceValidation{OpenAPIV3Schema: runtime.RawExtension{Raw: raw}},
		}},
	}
	generate := xcrd.ForCompositeResource
	if claim != "" {
		x.Spec.ClaimNames = &extv1.CustomResourceDefinitionNames{Kind: claim, Plural: strings.ToLower(claim) + "-claim"}
		generate = xcrd.ForCompositeResourceClaim
	}
	made, err := generate(x)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: must be a schema%s", v.at, detail(err))
	}
	if raw, err = json.Marshal(made.Spec.Versions[0].Schema.OpenAPIV3Schema); err != nil {
		return nil, fmt.Errorf("cannot read %s: must be a schema", v.at)
	}
	out := &structpb.Struct{}
	if err := out.UnmarshalJSON(raw); err != nil { // which quotes the value
		return nil, fmt.Errorf("cannot read %s: must be JSON", v.at)
	}
	return out, nil
}

// detail returns the field in the error of a decoder, without the value.
func detail(err error) string {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) || t.Field == "" {
		return ""
	}
	what, _, _ := strings.Cut(t.Value, " ")
	return fmt.Sprintf(", whose %s may not be a %s", t.Field, what)
}
