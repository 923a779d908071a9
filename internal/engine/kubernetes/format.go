package kubernetes

import (
	"net/url"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A format validates a text, and returns what is wrong with it.
type format struct{ validate func(string) []string }

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
	"uuid":                   {openAPI(isUUID, "does not match the UUID format")},
	"byte":                   {openAPI(isBase64, "invalid base64")},
	"date":                   {openAPI(isDate, "invalid date")},
	"datetime":               {openAPI(isDateTime, "invalid datetime")},
}

// formatFunctions declares format.named, a function for each format, and validate.
func formatFunctions() []cel.EnvOption {
	messages := cel.OptionalType(cel.ListType(cel.StringType))
	out := append(make([]cel.EnvOption, 0, 2+len(named)),
		cel.Function("format.named", cel.Overload("format-named", []*cel.Type{cel.StringType},
			cel.OptionalType(formats.typ), one(formatNamed))),
		cel.Function("validate", cel.MemberOverload("format-validate", []*cel.Type{formats.typ, cel.StringType},
			messages, two(validate))),
	)
	for name, f := range named {
		id := "format." + name
		call := cel.FunctionBinding(func(...ref.Val) ref.Val { return formats.of(f, nil) })
		out = append(out, cel.Function(id, cel.Overload(id, []*cel.Type{}, formats.typ, call)))
	}
	return out
}

func formatNamed(name types.String) ref.Val {
	f, ok := named[string(name)]
	if !ok {
		return types.OptionalNone
	}
	return types.OptionalOf(formats.of(f, nil))
}

// validate returns an optional with what is wrong with a text, which is empty if nothing is.
func validate(f opaque[*format], s types.String) ref.Val {
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

// openAPI validates a format of OpenAPI schemas. The rules are those of k8s.io/kube-openapi/pkg/validation/strfmt,
// which compiles the patterns of 30 formats when a program starts.
func openAPI(is func(string) bool, wrong string) func(string) []string {
	return func(s string) []string {
		if is(s) {
			return nil
		}
		return []string{wrong}
	}
}

var (
	uuidForm   = lazy.MustCompile(`(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`)
	base64Form = lazy.MustCompile(`^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$`)
	timeOfDay  = lazy.MustCompile(`^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$`)
)

func isUUID(s string) bool { return uuidForm().MatchString(s) }

func isBase64(s string) bool { return base64Form().MatchString(s) }

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isDateTime ignores the text after a second t, as Kubernetes does.
func isDateTime(s string) bool {
	parts := strings.Split(strings.ToLower(s), "t")
	if len(parts) < 2 || !isDate(parts[0]) {
		return false
	}
	m := timeOfDay().FindStringSubmatch(parts[1])
	return m != nil && m[1] <= "23" && m[2] <= "59" && m[3] <= "59"
}

func validateURI(s string) []string {
	if _, err := url.ParseRequestURI(s); err != nil {
		return []string{err.Error()}
	}
	return nil
}
