package credential

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

func certificateInput(t testing.TB, text string) *v1beta1.CertificateGenerator {
	t.Helper()
	in := &v1beta1.CertificateGenerator{}
	if err := yaml.UnmarshalStrict([]byte(text), in); err != nil {
		t.Fatal(err)
	}
	return in
}

func certificate(t testing.TB, text string) *Certificate {
	t.Helper()
	c, diagnostics := CompileCertificate(field.NewPath("certificate"), certificateInput(t, text))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics.ToAggregate())
	}
	return c
}

const (
	noDNS = "is not a DNS name: each of its labels must have 1 to 63 letters, digits and '-', and not start or end with '-', " +
		"and only the first one may be '*'"
	noIP = "is not an IP address: write for example 10.0.0.1 or fd00::1"
)

func TestCompileCertificateDiagnostics(t *testing.T) {
	label := strings.Repeat("a", 63)
	var noNames []string
	for i := range 18 {
		noNames = append(noNames, fmt.Sprintf(".dnsNames[%d]: %s", i, noDNS))
	}
	cases := map[string]struct {
		reason string
		in     string
		want   []string // after "certificate"
	}{
		"CA":         {reason: "a CA needs only a subject", in: `{isCA: true, subject: {organizations: [Acme]}}`},
		"SelfSigned": {reason: "a certificate of its own", in: `{subject: {commonName: shop}, dnsNames: [shop], keyType: rsa}`},
		"Leaf":       {reason: "clients read the names, and not the subject", in: `{ca: root, ipAddresses: [10.0.0.1]}`},
		"Client":     {reason: "servers read the subject, and not the names", in: `{ca: root, subject: {commonName: alice}}`},
		"Names": {
			reason: "upper case, a wildcard, punycode, no dot, and the longest label",
			in:     fmt.Sprintf(`{ca: root, dnsNames: [localhost, Shop.Example.COM, "*.shop.example", xn--bcher-kva.example, 1.example, %q]}`, label+".a"),
		},
		"Times":    {reason: "the limits are allowed", in: `{ca: root, dnsNames: [a], duration: 1h, renewBefore: 55m}`},
		"TimesMax": {reason: "the limits are allowed", in: `{ca: root, dnsNames: [a], duration: 876000h, renewBefore: 5m}`},
		"DNSNames": {
			reason: "no DNS name",
			in: fmt.Sprintf(`{ca: root, dnsNames: ["", ".", a., .a, a..b, -a, a-, "a b", büro.example, a_b, "https://a", "a:443", %q, "*", "*.", "a.*.b", "a*.b", "*a.b"]}`,
				label+"a"),
			want: noNames,
		},
		"AddressAsName": {
			reason: "no client looks for an address among the names",
			in:     `{ca: root, dnsNames: [10.0.0.1, "::1"]}`,
			want:   []string{".dnsNames[0]: is an IP address: list it in ipAddresses", ".dnsNames[1]: is an IP address: list it in ipAddresses"},
		},
		"IPAddresses": {
			reason: "no address, and a zone is only valid on one host",
			in:     `{ca: root, ipAddresses: ["", 10.0.0.0/8, 010.0.0.1, "fe80::1%eth0"]}`,
			want:   []string{".ipAddresses[0]: " + noIP, ".ipAddresses[1]: " + noIP, ".ipAddresses[2]: " + noIP, ".ipAddresses[3]: " + noIP},
		},
		"RenewBeforeLong": {
			reason: "each reconcile would make a new one",
			in:     `{ca: root, dnsNames: [a], duration: 90h, renewBefore: 90h}`,
			want:   []string{".renewBefore: is 90h: must be from 5m to 89h55m with a duration of 90h"},
		},
		"RenewBeforeDefault": {
			reason: "the default of the duration is said",
			in:     `{ca: root, dnsNames: [a], renewBefore: 2159h55m1s}`,
			want:   []string{".renewBefore: is 2159h55m1s: must be from 5m to 2159h55m with a duration of 2160h"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, diagnostics := CompileCertificate(field.NewPath("certificate"), certificateInput(t, tc.in))
			var got []string
			for _, f := range diagnosticTexts(diagnostics) {
				got = append(got, strings.TrimPrefix(f, "certificate"))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if (c == nil) != (len(tc.want) > 0) {
				t.Errorf("%s\na certificate %v with diagnostics %v", tc.reason, c, diagnostics)
			}
		})
	}
}

func TestCertificateFaultOfCA(t *testing.T) {
	root := `{isCA: true, subject: {commonName: root, organizations: [a, b]}}`
	cases := map[string]struct {
		reason, ca, in string
		want           string
	}{
		"Good":     {reason: "a CA, and another subject", ca: root, in: `{ca: root, subject: {commonName: root}}`},
		"NoCA":     {reason: "others would not trust what it signs", ca: `{subject: {commonName: root}}`, in: `{ca: root, dnsNames: [a]}`, want: "generators[1].certificate.ca: names a certificate that is not a CA: set its isCA to true"},
		"SameName": {reason: "who issued it is told by the name", ca: root, in: `{ca: root, subject: {commonName: root, organizations: [b, a]}}`, want: "generators[1].certificate.subject: is also the subject of the CA, so that the certificate would seem to sign itself: set another commonName"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if f := certificate(t, tc.in).CheckCA(field.NewPath("generators").Index(1).Child("certificate"), certificate(t, tc.ca)); f != nil {
				got = f.Field + ": " + f.Detail
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
