package schema

import (
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
)

// A definition is what a CustomResourceDefinition and a CompositeResourceDefinition
// have in common.
type definition struct {
	group, kind, plural string
	versions            []version
}

type version struct {
	name   string
	at     string         // of its schema
	schema map[string]any // nil without one
}

// kindName is what the API server lets a kind be called.
var kindName = regexp.MustCompile(`^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$`)

func (d definition) named(v version, kind string) Kind { return Kind{d.group + "/" + v.name, kind} }

// resources are the kinds of a CustomResourceDefinition. One that has no schema is
// not known.
func resources(object map[string]any) (map[Kind]declared, error) {
	d, _, err := define(object)
	if err != nil {
		return nil, err
	}
	out := map[Kind]declared{}
	for _, v := range d.versions {
		if v.schema == nil {
			continue
		}
		s, err := structpb.NewStruct(v.schema)
		if err != nil { // which shows the value
			return nil, fmt.Errorf("cannot read %s: must be JSON", v.at)
		}
		out[d.named(v, d.kind)] = declared{schema: s, plural: d.plural}
	}
	return out, nil
}

// composites are the kinds of a CompositeResourceDefinition: of the composite, and of
// its claim.
func composites(object map[string]any, scope string) (map[Kind]declared, error) {
	d, spec, err := define(object)
	if err != nil {
		return nil, err
	}
	if s, err := optional[string](spec, "spec.", "scope"); err != nil {
		return nil, err
	} else if s != "" {
		scope = s
	}
	claim, claims, err := claimNames(spec, d.kind)
	if err != nil {
		return nil, err
	}
	keys, err := texts(spec, "spec.", "connectionSecretKeys")
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		keys = nil // Crossplane publishes all then
	}
	out := map[Kind]declared{}
	for _, v := range d.versions {
		s, err := d.generated(v, scope, "")
		if err != nil {
			return nil, err
		}
		out[d.named(v, d.kind)] = declared{schema: s, connectionKeys: keys, plural: d.plural, composite: true, cluster: scope != "Namespaced" && claim == ""}
		if claim == "" {
			continue
		}
		if s, err = d.generated(v, scope, claim); err != nil {
			return nil, err
		}
		out[d.named(v, claim)] = declared{schema: s, connectionKeys: keys, plural: claims, composite: true}
	}
	return out, nil
}

func claimNames(spec map[string]any, composite string) (kind, plural string, err error) {
	names, err := optional[map[string]any](spec, "spec.", "claimNames")
	if err != nil || names == nil {
		return "", "", err
	}
	kind, plural, err = namesOf(names, "spec.claimNames.")
	if err == nil && kind == composite {
		err = errors.New("cannot read spec.claimNames.kind: must not be the composite's kind")
	}
	return kind, plural, err
}

// generated is the schema that Crossplane makes of a version, for the composite or its
// claim: with its own fields in spec and status.
func (d definition) generated(v version, scope, claim string) (*structpb.Struct, error) {
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
	if err := out.UnmarshalJSON(raw); err != nil { // which shows the value
		return nil, fmt.Errorf("cannot read %s: must be JSON", v.at)
	}
	return out, nil
}

// detail of an error of a decoder, without the value that it shows.
func detail(err error) string {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) || t.Field == "" {
		return ""
	}
	what, _, _ := strings.Cut(t.Value, " ")
	return fmt.Sprintf(", whose %s may not be a %s", t.Field, what)
}

// define reads what both kinds of definitions have.
func define(object map[string]any) (d definition, spec map[string]any, err error) {
	if spec, err = member[map[string]any](object, "", "spec"); err != nil {
		return d, nil, err
	}
	if d.group, err = member[string](spec, "spec.", "group"); err != nil {
		return d, nil, err
	}
	names, err := member[map[string]any](spec, "spec.", "names")
	if err != nil {
		return d, nil, err
	}
	if d.kind, d.plural, err = namesOf(names, "spec.names."); err != nil {
		return d, nil, err
	}
	versions, err := member[[]any](spec, "spec.", "versions")
	if err != nil {
		return d, nil, err
	}
	for i := range versions {
		v, err := versionOf(versions[i], fmt.Sprintf("spec.versions[%d]", i))
		if err != nil {
			return d, nil, err
		}
		d.versions = append(d.versions, v)
	}
	return d, spec, nil
}

func versionOf(in any, at string) (v version, err error) {
	o, ok := in.(map[string]any)
	if !ok {
		return v, fmt.Errorf("cannot read %s: must be an object", at)
	}
	if v.name, err = member[string](o, at+".", "name"); err != nil {
		return v, err
	}
	s, err := optional[map[string]any](o, at+".", "schema")
	if err != nil {
		return v, err
	}
	v.at = at + ".schema.openAPIV3Schema"
	v.schema, err = optional[map[string]any](s, at+".schema.", "openAPIV3Schema")
	return v, err
}

func namesOf(names map[string]any, at string) (kind, plural string, err error) {
	if kind, err = member[string](names, at, "kind"); err != nil {
		return "", "", err
	}
	if !kindName.MatchString(kind) {
		return "", "", fmt.Errorf("cannot read %skind: must be letters, digits and '-'", at)
	}
	plural, err = optional[string](names, at, "plural")
	return kind, plural, err
}

func texts(o map[string]any, at, name string) ([]string, error) {
	list, err := optional[[]any](o, at, name)
	if err != nil || list == nil {
		return nil, err
	}
	out := make([]string, len(list))
	for i := range list {
		s, ok := list[i].(string)
		if !ok {
			return nil, fmt.Errorf("cannot read %s%s[%d]: must be a string", at, name, i)
		}
		out[i] = s
	}
	return out, nil
}

// member is a field that has to be there.
func member[T any](o map[string]any, at, name string) (T, error) {
	v, err := optional[T](o, at, name)
	if err == nil && o[name] == nil {
		err = fmt.Errorf("cannot read %s%s: must be set", at, name)
	}
	return v, err
}

// optional is a field that need not be there. Its error never shows the value.
func optional[T any](o map[string]any, at, name string) (T, error) {
	v, ok := o[name].(T)
	if ok || o[name] == nil {
		return v, nil
	}
	want := "a string"
	switch any(v).(type) {
	case map[string]any:
		want = "an object"
	case []any:
		want = "a list"
	}
	return v, fmt.Errorf("cannot read %s%s: must be %s", at, name, want)
}
