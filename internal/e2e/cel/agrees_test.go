// Package cel compares the CEL functions of internal/engine/kubernetes with the original,
// k8s.io/apiserver/pkg/cel/library. It is a module of its own, because the original imports the typed API and hundreds
// of packages.
package cel

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	owncel "cel.dev/cel-go/cel"
	owntypes "cel.dev/cel-go/common/types"
	ownref "cel.dev/cel-go/common/types/ref"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// kubernetes is an environment with the original functions. Its other libraries are those of ours.
func kubernetes(t testing.TB) *cel.Env {
	t.Helper()
	env, err := cel.NewEnv(
		cel.OptionalTypes(cel.OptionalTypesVersion(2)), cel.CrossTypeNumericComparisons(true),
		ext.Strings(ext.StringsVersion(5)), ext.Bindings(ext.BindingsVersion(0)), ext.Sets(ext.SetsVersion(0)),
		library.URLs(), library.IP(), library.CIDR(), library.Quantity(), library.SemverLib(library.SemverVersion(1)),
		library.Format(),
	)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// silent is an adviser whose messages only say what is wrong.
type silent struct{}

func (silent) Explain(e *expression.Errors) diagnostic.List {
	return diagnostic.List{e.Source.At(e.All[0].Line, e.All[0].Column, e.All[0].Text)}
}
func (silent) Review(*expression.Expression) diagnostic.List { return nil }
func (silent) Reason(f *expression.Failure) string           { return f.What }

func ours(t testing.TB) *expression.Environment {
	t.Helper()
	env, err := expression.NewEnvironment(silent{})
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// An outcome is refused, failed, or the value and its type.
func outcomeOfKubernetes(env *cel.Env, text string) string {
	a, iss := env.Compile(text)
	if iss.Err() != nil {
		return "refused"
	}
	p, err := env.Program(a)
	if err != nil {
		return "refused"
	}
	v, _, err := p.Eval(cel.NoVars())
	if err != nil {
		return "failed"
	}
	return a.OutputType().String() + " " + printed(v)
}

func outcomeOfOurs(env *expression.Environment, text string) string {
	a, iss := env.CEL().Compile(text)
	x, wrong := env.Compile(expression.Source{Text: text, Path: "here"})
	if iss.Err() != nil || len(wrong) > 0 {
		return "refused"
	}
	v, err := x.Evaluate(context.Background(), owncel.NoVars(), budget.New(context.Background()))
	if err != nil {
		return "failed"
	}
	return a.OutputType().String() + " " + printedOwn(v)
}

// printed returns the text of a value. Of a value that only functions read, it is the type.
func printed(v ref.Val) string {
	switch t := v.(type) {
	case *types.Optional:
		if !t.HasValue() {
			return "none"
		}
		return "optional " + printed(t.GetValue())
	case types.String, types.Int, types.Bool, types.Double:
		return fmt.Sprintf("%T %v", v, v)
	}
	return v.Type().TypeName()
}

// printedOwn is printed for our values, whose types have the same names in a module with another name.
func printedOwn(v ownref.Val) string {
	switch t := v.(type) {
	case *owntypes.Optional:
		if !t.HasValue() {
			return "none"
		}
		return "optional " + printedOwn(t.GetValue())
	case owntypes.String, owntypes.Int, owntypes.Bool, owntypes.Double:
		return fmt.Sprintf("%T %v", v, v)
	}
	return v.Type().TypeName()
}

// compare reports if an expression has another outcome than in Kubernetes. A literal that is not an address always
// fails, and is refused here.
func compare(t *testing.T, theirs *cel.Env, own *expression.Environment, text string) {
	t.Helper()
	want, got := outcomeOfKubernetes(theirs, text), outcomeOfOurs(own, text)
	if earlier := want == "failed" && got == "refused"; want != got && !earlier {
		t.Errorf("%s: in Kubernetes %s, here %s", text, want, got)
	}
}

// Calls of each function, on texts that are valid, almost valid, or have another meaning.
var calls = []string{
	"url(%s)", "isURL(%s)", "url(%s).getScheme()", "url(%s).getHost()", "url(%s).getHostname()", "url(%s).getPort()",
	"url(%s).getEscapedPath()", "url(%s).getQuery() == {'a': ['1', '2'], 'b': ['']}", "url(%s).getQuery().size()",
	"url(%s) == url(%s)", "url(%s).scheme", "url(%s, %s)", "%s.getHost()", "string(url(%s))", "string(dyn(url(%s)))",
	"type(url(%s))", "'%%s'.format([url(%s)])",

	"ip(%s)", "isIP(%s)", "ip.isCanonical(%s)", "string(ip(%s))", "ip(%s).family()", "ip(%s).isUnspecified()",
	"ip(%s).isLoopback()", "ip(%s).isLinkLocalMulticast()", "ip(%s).isLinkLocalUnicast()", "ip(%s).isGlobalUnicast()",
	"ip(%s) == ip(%s)", "string(dyn(ip(%s)))", "type(ip(%s)) == net.IP", "[ip(%s)] == [ip(%s)]",
	"ip(%s) in [ip(%s)]", "sets.contains([ip(%s)], [ip(%s)])", "{ip(%s): 1}[ip(%s)]", "%s.isIP()", "ip(dyn(%s))", "ip(1)",

	"cidr(%s)", "isCIDR(%s)", "string(cidr(%s))", "cidr(%s).containsIP(%s)", "cidr(%s).containsIP(ip(%s))",
	"cidr(%s).containsCIDR(%s)", "cidr(%s).containsCIDR(cidr(%s))", "string(cidr(%s).ip())", "string(cidr(%s).masked())",
	"cidr(%s).prefixLength()", "cidr(%s) == cidr(%s).masked()", "cidr(%s).containsIP(dyn(%s))",
	"type(cidr(%s)) == net.CIDR",

	"quantity(%s)", "isQuantity(%s)", "sign(quantity(%s))", "quantity(%s).sign()", "quantity(%s).isInteger()",
	"quantity(%s).asInteger()", "quantity(%s).asApproximateFloat()", "quantity(%s).add(quantity(%s)).asApproximateFloat()",
	"quantity(%s).sub(quantity(%s)).isInteger()", "quantity(%s).add(20).asInteger()", "quantity(%s).sub(20).asInteger()",
	"quantity(%s).isLessThan(quantity(%s))", "quantity(%s).isGreaterThan(quantity(%s))",
	"quantity(%s).compareTo(quantity(%s))",
	"quantity(%s) == quantity(%s)", "quantity(%s).add(1) == quantity(%s)", "quantity(%s).add(%s)", "string(quantity(%s))",
	"quantity(%s) < quantity(%s)", "dyn(quantity(%s)) == 1", "sign(dyn(%s))",

	"semver(%s)", "isSemver(%s)", "semver(%s, true)", "isSemver(%s, true)", "semver(%s, false)", "isSemver(%s, false)",
	"semver(%s).major()", "semver(%s).minor()", "semver(%s).patch()", "semver(%s, true).major()",
	"semver(%s, true).minor()",
	"semver(%s, true).patch()", "semver(%s).isLessThan(semver(%s))", "semver(%s).isGreaterThan(semver(%s))",
	"semver(%s).compareTo(semver(%s))", "semver(%s, true).compareTo(semver(%s, true))", "semver(%s) == semver(%s)",
	"semver(%s).compareTo(quantity(%s))", "semver(%s, 1)",

	"format.named(%s)", "format.named(%s).hasValue()", "format.named('uuid') == optional.of(format.uuid())",
	"format.named('dns1123Label').value().validate(%s)", "format.dns1123Label() == format.uri()",
	"format.dns1123Label(%s)",
	"format.%[1]s().validate(%[2]s).hasValue()", "format.%[1]s().validate(%[2]s).orValue(['']).join('; ')",
}

var formats = []string{
	"dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix",
	"dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime", "email",
}

// The examples of Kubernetes' documentation, and texts at the limits of what is valid.
var texts = []string{
	"", "a", "A", "/", "//", "/path", "https://example.com/", "https://user:pass@example.com:80/path?query=val#fragment",
	"../relative-path", "https://a:b:c/", "https://[::1]:80/", "https://[::1%25eth0]/", "https://127.0.0.1:80/",
	"HTTP://EXAMPLE.com",
	"https://example.com/path with spaces/", "https://example.com/path?a=1&b=&a=2", "https://x/?a=1;b=2", "https://x/%zz",
	"mailto:a@b.c",
	"https://x/a%2Fb?%zz", "https://x#f?q", "http://\x7f/", "postgres://u:p%40@h:5432/db?sslmode=require",
	"https://exa\tmple.com",
	"127.0.0.1", "127.0.0.256", "0.0.0.0", "::", "::1", ":::1", "192.168.0.1", "255.255.255.255", "169.254.169.254",
	"224.0.0.1", "224.0.1.1",
	"fe80::1", "fe80::1%eth0", "ff02::1", "ff00::1", "fd00::1", "2001:db8::abcd", "2001:DB8::ABCD", "2001:db8::0:0:0:abcd",
	"::ffff:1.2.3.4",
	"127.0.0.01", "1.2.3", "::1.2.3.4",
	"192.168.0.0/16", "192.168.0.1/16", "192.168.10.0/24", "10.0.0.0/8", "0.0.0.0/0", "::1/128", "::1/129",
	"192.168.0.0/33", "2001:db8::/32",
	"::ffff:1.2.3.4/120", "192.168.0.0/016", "192.168.0.0/", "fe80::1%eth0/64",
	"0", "-0", "+1", "1.", ".5", "1.5G", "200k", "200K", "Three", "Mi", "1.3Gi", "1,3G", "10000k", "50000000G", "50k",
	"20", "-5", "1e3", "1E3",
	"1E", "1Ei", "1e-9", "1e-10", "1e999", "1e-999", "0.1n", "0.5", "1.0", "100m", "200M", "0.2G", "50Mi",
	"9223372036854775807",
	"9223372036854775808", "-9223372036854775808", "9999999999999999999999999999999999999G",
	"9999999999999999999999999999999999999Gi",
	"1 Gi", "1e", "1e+3", "1e+", "00012", "5Ki5",
	"1.0.0", "1.2.3", "0.1.0-alpha.1", "1.0.0-alpha", "1.0.0-alpha.beta", "1.0.0-rc.1+build.5", "1.0.0+b", "v1.0.0",
	"v1.0", "1.0", "1",
	"01.01.01", "v01.02.03-rc", "1.2.3.4", "1.0-alpha", "00", "000.0.00", "0x1.2.3", "1.2.03-01", "1.0.0-01",
	"18446744073709551615.0.0",
	"18446744073709551616.0.0", "vv1.0.0", "1..0", " 1.0.0", "1.0.0 ",
	"my-name", "my-name-", "-", "--", "a-", "a.b.c", "a.b-", "a_b", "1a", "example.com/name", "example.com/", "/name",
	"apiextensions.k8s.io/v1beta1",
	"123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000", "aGVsbG8=", "aGVsbG8", "2021-01-01",
	"2021-13-01",
	"2021-01-01T00:00:00Z", "2021-01-01T00:00:00.123+02:00", "2021-01-01 00:00:00", "24:00:00", "dns1123Label", "é",
	"\u0000", "日本.example",
}

// fill replaces the texts of a call.
func fill(call string, name string, a, b string) string {
	if strings.Contains(call, "%[1]s") {
		return fmt.Sprintf(call, name, quoted(a))
	}
	args := []any{quoted(a), quoted(b)}
	return fmt.Sprintf(call, args[:strings.Count(strings.ReplaceAll(call, "%%", ""), "%s")]...)
}

// quoted is a text as CEL writes it.
func quoted(s string) string { return fmt.Sprintf("%q", s) }

// Each call agrees with Kubernetes on each text: alone, with itself, with some that are similar, and with any other
// one.
func TestKubernetesAgrees(t *testing.T) {
	theirs, own := kubernetes(t), ours(t)
	random := rand.New(rand.NewSource(1))
	for _, call := range calls {
		seen := map[string]bool{}
		for i, a := range texts {
			n := len(texts)
			for _, b := range []string{a, texts[(i+1)%n], texts[(i+2)%n], texts[(i+5)%n], texts[random.Intn(n)]} {
				for _, name := range formats {
					text := fill(call, name, a, b)
					if !seen[text] {
						compare(t, theirs, own, text)
					}
					seen[text] = true
				}
			}
		}
	}
}

// Where Kubernetes has another outcome, it is a mistake of Kubernetes: the result depends on how a quantity was
// computed.
func TestKubernetesDiffers(t *testing.T) {
	theirs, own := kubernetes(t), ours(t)
	cases := map[string]struct{ reason, text, kubernetes, ours string }{
		"SumOnTheRight": {
			"A sum is equal to the same quantity on both sides.",
			"quantity('2') == quantity('1').add(1)", "failed", "bool types.Bool true",
		},
		"OtherType": {
			"An address differs from a value of another type.",
			"dyn(ip('::1')) == '::1'", "failed", "bool types.Bool false",
		},
		"SumOfItself": {
			"A sum does not change its first operand.",
			"cel.bind(q, quantity('9999999999999999999999G'), q.add(1).isGreaterThan(q))", "bool types.Bool false",
			"bool types.Bool true",
		},
		"Compared": {
			"A comparison does not change whether a quantity is an integer.",
			"cel.bind(q, quantity('1'), q.isLessThan(quantity('9999999999999999999999G')) && q.isInteger())",
			"bool types.Bool false", "bool types.Bool true",
		},
		"Exponent": {
			"The exponent of a quantity is limited, because the time of the parser grows with it.",
			"isQuantity('1e1000')", "bool types.Bool true", "bool types.Bool false",
		},
		"Length": {
			"The length of a quantity is limited, because the time of calculations grows with it.",
			"isQuantity('" + strings.Repeat("1", 129) + "')", "bool types.Bool true", "bool types.Bool false",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := outcomeOfKubernetes(theirs, tc.text); got != tc.kubernetes {
				t.Errorf("%s: in Kubernetes: want %s, got %s", tc.text, tc.kubernetes, got)
			}
			if got := outcomeOfOurs(own, tc.text); got != tc.ours {
				t.Errorf("%s %s: here: want %s, got %s", tc.reason, tc.text, tc.ours, got)
			}
		})
	}
}

// The law: whatever the texts are, a call has the same value or fails in the same way as in Kubernetes.
func FuzzKubernetesAgrees(f *testing.F) {
	for i, a := range texts {
		f.Add(uint16(i), uint8(i), a, texts[(i*7)%len(texts)])
	}
	theirs, own := kubernetes(f), ours(f)
	f.Fuzz(func(t *testing.T, call uint16, name uint8, a, b string) {
		a, b = a[:min(len(a), 200)], b[:min(len(b), 200)] // an expression has a limited length
		compare(t, theirs, own, fill(calls[int(call)%len(calls)], formats[int(name)%len(formats)], a, b))
	})
}
