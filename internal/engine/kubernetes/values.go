package kubernetes

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

var quantities = &kind[*resource.Quantity]{ //nolint:gochecknoglobals // a constant
	typ:   cel.ObjectType("kubernetes.Quantity"),
	equal: func(a, b *resource.Quantity) bool { return compare(a, b) == 0 },
}

// quantityFunctions declares quantity, isQuantity, and the functions of a quantity.
func quantityFunctions() []cel.EnvOption {
	return append(comparisons(quantities, "quantity", compare),
		parser(quantities, "string_to_quantity", "quantity", parseQuantity),
		is("is_quantity_string", "isQuantity", parseQuantity),
		cel.Function("sign", // in Kubernetes, it is not a method, unlike the others
			cel.Overload("quantity_sign", []*cel.Type{quantities.typ}, cel.IntType,
				one(func(q opaque[*resource.Quantity]) ref.Val { return types.Int(q.value.Sign()) }))),
		method(quantities, "quantity_get_float", "asApproximateFloat", cel.DoubleType,
			func(q *resource.Quantity) ref.Val { return types.Double(q.AsApproximateFloat64()) }),
		method(quantities, "quantity_get_int", "asInteger", cel.IntType, asInteger),
		method(quantities, "quantity_is_integer", "isInteger", cel.BoolType, isInteger),
		both(quantities, "quantity_add", "add", quantities.typ, add),
		both(quantities, "quantity_sub", "sub", quantities.typ, sub),
		withInt("quantity_add_int", "add", add),
		withInt("quantity_sub_int", "sub", sub),
	)
}

// Limits of the text of a quantity. Without them, the parser takes a minute for 1e-100000000.
const (
	quantityBytes    = 128
	quantityExponent = 999
)

func parseQuantity(s string) (*resource.Quantity, error) {
	if len(s) > quantityBytes {
		return nil, errText
	}
	exponent := s[strings.LastIndexAny(s, "eE")+1:] // not a number if there is none
	n, err := strconv.Atoi(exponent)
	if err == nil && exponent != s && (n > quantityExponent || n < -quantityExponent) {
		return nil, errText
	}
	q, err := resource.ParseQuantity(s)
	return &q, err
}

func asInteger(q *resource.Quantity) ref.Val {
	n, ok := q.AsInt64()
	if !ok {
		return types.NewErr("cannot convert value to integer")
	}
	return types.Int(n)
}

func isInteger(q *resource.Quantity) ref.Val {
	_, ok := q.AsInt64()
	return types.Bool(ok)
}

// compare orders two quantities. Without the copy, it would change how the first one is stored, and isInteger with it.
func compare(a, b *resource.Quantity) int {
	a = new(a.DeepCopy())
	return a.Cmp(*b)
}

// add returns a sum. Without the copy, the sum of large quantities would change the first one.
func add(a, b *resource.Quantity) ref.Val {
	sum := a.DeepCopy()
	sum.Add(*b)
	return quantities.of(&sum, nil)
}

func sub(a, b *resource.Quantity) ref.Val {
	difference := a.DeepCopy()
	difference.Sub(*b)
	return quantities.of(&difference, nil)
}

// withInt is a function of a quantity and an int.
func withInt(id, name string, f func(a, b *resource.Quantity) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload(id, []*cel.Type{quantities.typ, cel.IntType}, quantities.typ,
		two(func(q opaque[*resource.Quantity], n types.Int) ref.Val {
			return f(q.value, resource.NewQuantity(int64(n), resource.DecimalExponent))
		})))
}

var versions = &kind[*semver.Version]{ //nolint:gochecknoglobals // a constant
	typ:   cel.ObjectType("kubernetes.Semver"),
	equal: func(a, b *semver.Version) bool { return a.EQ(*b) },
	size: func(v *semver.Version) (n int64) {
		for _, p := range v.Pre {
			n += int64(len(p.VersionStr)) + 8
		}
		return n
	},
}

// semverFunctions declares semver, isSemver, and the functions of a version.
func semverFunctions() []cel.EnvOption {
	number := func(name string, f func(*semver.Version) uint64) cel.EnvOption {
		return method(versions, "semver_"+name, name, cel.IntType, func(v *semver.Version) ref.Val {
			return types.Int(f(v)) //nolint:gosec // as in Kubernetes
		})
	}
	withFlag := []*cel.Type{cel.StringType, cel.BoolType}
	return append(comparisons(versions, "semver", func(a, b *semver.Version) int { return a.Compare(*b) }),
		parser(versions, "string_to_semver", "semver", parseVersion),
		is("is_semver_string", "isSemver", parseVersion),
		cel.Function("semver", cel.Overload("string_bool_to_semver", withFlag, versions.typ, onVersion(versions.of))),
		cel.Function("isSemver", cel.Overload("is_semver_string_bool", withFlag, cel.BoolType,
			onVersion(func(_ *semver.Version, err error) ref.Val { return types.Bool(err == nil) }))),
		number("major", func(v *semver.Version) uint64 { return v.Major }),
		number("minor", func(v *semver.Version) uint64 { return v.Minor }),
		number("patch", func(v *semver.Version) uint64 { return v.Patch }),
	)
}

// onVersion is a function of a version that is normalized first if the second argument is true.
func onVersion(f func(*semver.Version, error) ref.Val) cel.OverloadOpt {
	return two(func(s types.String, normalize types.Bool) ref.Val {
		if normalize {
			return f(parseNormalized(string(s)))
		}
		return f(parseVersion(string(s)))
	})
}

func parseVersion(s string) (*semver.Version, error) {
	v, err := semver.Parse(s)
	return &v, err
}

// parseNormalized reads a version after it removes a "v" at the beginning and leading zeros, and adds a missing minor
// and patch number.
func parseNormalized(s string) (*semver.Version, error) {
	parts := strings.SplitN(strings.TrimPrefix(s, "v"), ".", 3)
	for i, p := range parts {
		if len(p) < 2 {
			continue
		}
		p = strings.TrimLeft(p, "0")
		if p == "" || p[0] < '0' || p[0] > '9' {
			p = "0" + p
		}
		parts[i] = p
	}
	if len(parts) < 3 && strings.ContainsAny(parts[len(parts)-1], "+-") {
		return nil, errText // a version without a patch number cannot have a suffix
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	return parseVersion(strings.Join(parts, "."))
}

var urls = &kind[*url.URL]{ //nolint:gochecknoglobals // a constant
	typ:   cel.ObjectType("kubernetes.URL"),
	equal: func(a, b *url.URL) bool { return a.String() == b.String() },
	size: func(u *url.URL) int64 {
		return int64(len(u.Scheme) + len(u.Opaque) + len(u.Host) + len(u.Path) + len(u.RawQuery) + len(u.Fragment))
	},
}

// urlFunctions declares url, isURL, and the functions of a URL.
func urlFunctions() []cel.EnvOption {
	part := func(id, name string, f func(*url.URL) string) cel.EnvOption {
		return method(urls, id, name, cel.StringType, func(u *url.URL) ref.Val { return types.String(f(u)) })
	}
	return []cel.EnvOption{
		parser(urls, "string_to_url", "url", parseURL),
		is("is_url_string", "isURL", url.ParseRequestURI),
		part("url_get_scheme", "getScheme", func(u *url.URL) string { return u.Scheme }),
		part("url_get_host", "getHost", func(u *url.URL) string { return u.Host }),
		part("url_get_hostname", "getHostname", (*url.URL).Hostname),
		part("url_get_port", "getPort", (*url.URL).Port),
		part("url_get_escaped_path", "getEscapedPath", (*url.URL).EscapedPath),
		method(urls, "url_get_query", "getQuery", cel.MapType(cel.StringType, cel.ListType(cel.StringType)), query),
	}
}

// parseURL accepts an absolute URL or an absolute path. Only the second parser finds the fragment.
func parseURL(s string) (*url.URL, error) {
	if _, err := url.ParseRequestURI(s); err != nil {
		return nil, err
	}
	return url.Parse(s)
}

// query returns the values of each parameter.
func query(u *url.URL) ref.Val {
	out := map[ref.Val]ref.Val{}
	for k, v := range u.Query() {
		out[types.String(k)] = types.NewStringList(types.DefaultTypeAdapter, v)
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, out)
}

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
