package kubernetes_test

import (
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"github.com/crossplane-contrib/function-export/internal/engine/kubernetes"
)

// The outcomes of an example that has no value.
const (
	refused = "refused" // by the checker: a literal that is not an address always fails
	failed  = "failed"
)

// Each expression is an example of Kubernetes' documentation, with the result that the documentation says. The tests in
// agrees compare many more with the code of Kubernetes.
var documented = map[string]any{
	"url('https://user:pass@example.com:80/path?query=val#fragment').getHost()": "example.com:80",
	"url('https://a:b:c/')": failed,
	"isURL('https://user:pass@example.com:80/path?query=val#fragment')": true,
	"isURL('https://a:b:c/')":                           false,
	"url('/path').getScheme()":                          "",
	"url('https://[::1]:80/').getHost()":                "[::1]:80",
	"url('/path').getHost()":                            "",
	"url('https://[::1]:80/').getHostname()":            "::1",
	"url('https://example.com/').getPort()":             "",
	"url('https://example.com').getEscapedPath()":       "",
	"url('https://example.com/path?').getQuery() == {}": true,

	"string(ip('127.0.0.1'))":                 "127.0.0.1",
	"ip(':::1')":                              refused,
	"ip('fe80::1%eth0')":                      refused,
	"isIP('127.0.0.256')":                     false,
	"ip.isCanonical('2001:db8::abcd')":        true,
	"ip.isCanonical('2001:db8::0:0:0:abcd')":  false,
	"ip('::1').family()":                      int64(6),
	"ip('::1').isUnspecified()":               false,
	"ip('2001:db8::abcd').isLoopback()":       false,
	"ip('224.0.1.1').isLinkLocalMulticast()":  false,
	"ip('fd80::1').isLinkLocalUnicast()":      false,
	"ip('255.255.255.255').isGlobalUnicast()": false,

	"string(cidr('192.168.0.0/16'))":                               "192.168.0.0/16",
	"isCIDR('::1/128')":                                            true,
	"cidr('192.168.0.0/24').containsIP(ip('192.168.0.1'))":         true,
	"cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24'))": true,
	"cidr('192.168.0.1/24').ip() == ip('192.168.0.1')":             true,
	"string(cidr('192.168.0.1/24').masked())":                      "192.168.0.0/24",
	"cidr('192.168.0.0/16').prefixLength()":                        int64(16),

	"quantity('200K')":           failed,
	"quantity('Mi').asInteger()": int64(0), // the documentation says that it fails
	"isQuantity('1,3G')":         false,
	"quantity('9999999999999999999999999999999999999G').isInteger()": false,
	"quantity('50k').asInteger()":                                    int64(50000),
	"quantity('50k').add(quantity('20k')) == quantity('70k')":        true,
	// the documentation says that it is accepted
	"quantity('50k').add('20k')":                         refused,
	"quantity('50k').add(20) == quantity('50020')":       true,
	"quantity('200M').compareTo(quantity('0.2G'))":       int64(0),
	"quantity('150Mi').isGreaterThan(quantity('100Mi'))": true,
	"sign(quantity('-50M'))":                             int64(-1),
	// the documentation says that it is accepted
	"quantity('-50M').sign()": refused,

	"semver('1.2.3').major()":                        int64(1),
	"semver('v1.0.7', true).patch()":                 int64(7),
	"semver('01.01.01', true) == semver('1.1.1')":    true,
	"isSemver('v1.0', true)":                         true,
	"semver('1.2.3').isGreaterThan(semver('1.2.3'))": false,

	"format.dns1123Label().validate('contains a space').hasValue()":                 true,
	"format.qualifiedName().validate('apiextensions.k8s.io/v1beta1').hasValue()":    false,
	"format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()":     false,
	"format.datetime().validate('2021-01-01T00:00:00Z').hasValue()":                 false,
	"format.named('dns1123Label').value().validate('a').hasValue()":                 false,
	"'%s is %s'.format(['a', 'b']) + string(format.uri().validate('/').hasValue())": "a is bfalse",
}

func TestDocumented(t *testing.T) {
	env, err := cel.NewEnv(append(kubernetes.Library(), cel.OptionalTypes(), ext.Strings())...)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range documented {
		if got := outcome(t, env, text); got != want {
			t.Errorf("%s: want %v, got %v", text, want, got)
		}
	}
}

func outcome(t *testing.T, env *cel.Env, text string) any {
	t.Helper()
	a, iss := env.Compile(text)
	if iss.Err() != nil {
		return refused
	}
	p, err := env.Program(a)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := p.Eval(cel.NoVars())
	if err != nil {
		return failed
	}
	return v.Value()
}

// The law: a call has a value or fails, and no error contains a part of the text.
func FuzzErrorsHoldNoText(f *testing.F) {
	for _, s := range []string{"https://canary:x:y/", "canary", "10.0.0.0/canary", "1.0.0-canary..", "1e-999999999",
		"v01.canary", "::%canary"} {
		f.Add(s)
	}
	env, err := cel.NewEnv(append(kubernetes.Library(), cel.OptionalTypes(), cel.Variable("s", cel.StringType))...)
	if err != nil {
		f.Fatal(err)
	}
	var programs []cel.Program
	for _, text := range []string{
		"url(s)", "quantity(s)", "semver(s)", "semver(s, true)", "quantity(s).asInteger()", "format.uri().validate(s)",
		"format.named(s)", "string(dyn(url(s)))",
	} {
		a, iss := env.Compile(text)
		if iss.Err() != nil {
			f.Fatal(iss.Err())
		}
		p, err := env.Program(a)
		if err != nil {
			f.Fatal(err)
		}
		programs = append(programs, p)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for i, p := range programs {
			v, _, err := p.Eval(map[string]any{"s": s})
			if err == nil && types.IsUnknownOrError(v) {
				t.Errorf("program %d of %q: an error is a value", i, s)
			}
			if err != nil && !known[err.Error()] {
				t.Errorf("program %d of %q: %v", i, s, err)
			}
		}
	})
}

// known are all errors of calls.
var known = map[string]bool{
	"the text cannot be read": true, "cannot convert value to integer": true, "no such overload": true,
	"no such overload: string(kubernetes.URL)": true,
}
