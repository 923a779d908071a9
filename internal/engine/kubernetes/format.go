package kubernetes

import (
	"net/url"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// A format validates a text, and returns what is wrong with it.
type format struct {
	validate func(string) []string
}

var formats = &kind[*format]{ //nolint:gochecknoglobals // a constant
	typ:   cel.ObjectType("kubernetes.NamedFormat"),
	equal: func(a, b *format) bool { return a == b },
}

// named are the formats by their names.
var named = map[string]*format{ //nolint:gochecknoglobals // a table
	"dns1123Label":           {validation.IsDNS1123Label},
	"dns1123Subdomain":       {validation.IsDNS1123Subdomain},
	"dns1035Label":           {validation.IsDNS1035Label},
	"qualifiedName":          {validation.IsQualifiedName},
	"dns1123LabelPrefix":     {prefix(validation.IsDNS1123Label)},
	"dns1123SubdomainPrefix": {prefix(validation.IsDNS1123Subdomain)},
	"dns1035LabelPrefix":     {prefix(validation.IsDNS1035Label)},
	"labelValue":             {validation.IsValidLabelValue},
	"uri":                    {validateURI},
	"uuid":                   {openAPI("uuid", "does not match the UUID format")},
	"byte":                   {openAPI("byte", "invalid base64")},
	"date":                   {openAPI("date", "invalid date")},
	"datetime":               {openAPI("datetime", "invalid datetime")},
}

// formatFunctions declares format.named, a function for each format, and validate.
func formatFunctions() []cel.EnvOption {
	messages := cel.OptionalType(cel.ListType(cel.StringType))
	out := make([]cel.EnvOption, 0, len(named)+2)
	out = append(out,
		cel.Function("format.named", cel.Overload("format-named", []*cel.Type{cel.StringType}, cel.OptionalType(formats.typ),
			onText(formatNamed))),
		cel.Function("validate", cel.MemberOverload("format-validate", []*cel.Type{formats.typ, cel.StringType}, messages,
			cel.BinaryBinding(validate))))
	for name, f := range named {
		id := "format." + name
		call := cel.FunctionBinding(func(...ref.Val) ref.Val { return formats.of(f, nil) })
		out = append(out, cel.Function(id, cel.Overload(id, []*cel.Type{}, formats.typ, call)))
	}
	return out
}

func formatNamed(name string) ref.Val {
	f, ok := named[name]
	if !ok {
		return types.OptionalNone
	}
	return types.OptionalOf(formats.of(f, nil))
}

// validate returns an optional with what is wrong with a text, which is empty if nothing is.
func validate(left, right ref.Val) ref.Val {
	f, ok := left.(opaque[*format])
	s, also := right.(types.String)
	if !ok || !also {
		return types.MaybeNoSuchOverloadErr(right)
	}
	wrong := f.value.validate(string(s))
	if len(wrong) == 0 {
		return types.OptionalNone
	}
	return types.OptionalOf(types.NewStringList(types.DefaultTypeAdapter, wrong))
}

// prefix validates the beginning of a name. Kubernetes replaces a dash at its end, and also the character before it.
func prefix(validate func(string) []string) func(string) []string {
	return func(s string) []string {
		if len(s) > 1 && strings.HasSuffix(s, "-") {
			s = s[:len(s)-2] + "a"
		}
		return validate(s)
	}
}

// openAPI validates a format of OpenAPI schemas.
func openAPI(name, wrong string) func(string) []string {
	return func(s string) []string {
		if strfmt.Default.Validates(name, s) {
			return nil
		}
		return []string{wrong}
	}
}

func validateURI(s string) []string {
	if _, err := url.ParseRequestURI(s); err != nil {
		return []string{err.Error()}
	}
	return nil
}
