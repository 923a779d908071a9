package generator

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
	c, faults := CompileCertificate(field.NewPath("certificate"), certificateInput(t, text))
	if len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	return c
}

const (
	notShown = "has a line break or another invisible character: write one line of text"
	noDNS    = "is not a DNS name: each of its labels must have 1 to 63 letters, digits and '-', and not start or end with '-'"
	badStar  = "has a '*' that is not its whole first label, or has only one label"
	noIP     = "is not an IP address: write for example 10.0.0.1 or fd00::1"
)

func TestCompileCertificateFaults(t *testing.T) {
	label := strings.Repeat("a", 63)
	cases := map[string]struct {
		reason string
		in     string
		want   []string // after "certificate"
	}{
		"CA":         {reason: "a CA needs a subject, and no more", in: `{isCA: true, subject: {organizations: [Acme]}}`},
		"SelfSigned": {reason: "a certificate of its own", in: `{subject: {commonName: shop}, dnsNames: [shop], keyType: rsa}`},
		"Leaf":       {reason: "clients read the names, not the subject", in: `{ca: root, ipAddresses: [10.0.0.1]}`},
		"Client":     {reason: "servers read the subject, not the names", in: `{ca: root, subject: {commonName: alice}}`},
		"Names": {
			reason: "what may be in a certificate: case, a wildcard, punycode, no dot at all, the longest ones",
			in: fmt.Sprintf(`{ca: root, dnsNames: [localhost, Shop.Example.COM, "*.shop.example", xn--bcher-kva.example, 1.example, "%s"]}`,
				strings.Join([]string{label, label, label, label[:61]}, ".")),
		},
		"Times":    {reason: "the limits are allowed", in: `{ca: root, dnsNames: [a], duration: 1h, renewBefore: 55m}`},
		"TimesMax": {reason: "the limits are allowed", in: `{ca: root, dnsNames: [a], duration: 876000h, renewBefore: 5m}`},
		"SubjectMax": {
			reason: "characters are counted, not bytes",
			in:     fmt.Sprintf(`{ca: root, subject: {commonName: "%s", organizations: ["%[1]s"]}}`, strings.Repeat("é", 64)),
		},
		"Many64": {reason: "the limit is allowed", in: `{ca: root, dnsNames: [` + strings.Repeat("a,", 64) + `], subject: {organizations: [` + strings.Repeat("a,", 16) + `]}}`},
		"CAOfCA": {
			reason: "there are no intermediate CAs",
			in:     `{isCA: true, ca: root, subject: {commonName: a}}`,
			want:   []string{".ca: must not be set for a CA, which signs itself"},
		},
		"Nobody": {
			reason: "a certificate of nobody proves nothing",
			in:     `{ca: root}`,
			want:   []string{": must have a name: set subject.commonName, dnsNames or ipAddresses"},
		},
		"NobodyEmpty": {
			reason: "nor does one of a subject without a name, also beside names",
			in:     `{ca: root, dnsNames: [a], subject: {}}`,
			want:   []string{".subject: must have commonName or organizations, or be left out"},
		},
		"NobodyCA": {
			reason: "RFC 5280 wants issuers to have a name",
			in:     `{isCA: true}`,
			want:   []string{".subject: must be set for a self-signed certificate, because it is also the issuer: set commonName"},
		},
		"NobodySelfSigned": {
			reason: "the same, though it has names",
			in:     `{dnsNames: [a]}`,
			want:   []string{".subject: must be set for a self-signed certificate, because it is also the issuer: set commonName"},
		},
		"CAWithNames": {
			reason: "openssl refuses to talk to a server whose certificate may only sign",
			in:     `{isCA: true, subject: {commonName: a}, ipAddresses: [10.0.0.1]}`,
			want:   []string{".isCA: must not be set with dnsNames or ipAddresses: a CA only signs: add another certificate with them, and set its ca to this generator"},
		},
		"SubjectLong": {
			reason: "RFC 5280's upper bounds",
			in:     fmt.Sprintf(`{ca: root, subject: {commonName: "%s", organizations: [ok, "%[1]s"]}}`, strings.Repeat("x", 65)),
			want: []string{
				".subject.commonName: has 65 characters, over the limit of 64",
				".subject.organizations[1]: has 65 characters, over the limit of 64",
			},
		},
		"SubjectText": {
			reason: "a name that some read to its end and others to the NUL",
			in:     `{ca: root, subject: {commonName: "bank.example\0.evil.example", organizations: ["", "a\nb"]}}`,
			want: []string{
				".subject.commonName: " + notShown,
				".subject.organizations[0]: must not be empty",
				".subject.organizations[1]: " + notShown,
			},
		},
		"Organizations": {
			reason: "the schema says so, but nobody holds a Composition's input against it",
			in:     `{ca: root, subject: {organizations: [` + strings.Repeat("a,", 17) + `]}}`,
			want:   []string{".subject.organizations: has 17 items, over the limit of 16"},
		},
		"DNSNames": {
			reason: "what is no DNS name",
			in: fmt.Sprintf(`{ca: root, dnsNames: ["", ".", a., .a, a..b, -a, a-, "a b", büro.example, a_b, "https://a", "a:443", "%sa", "%s"]}`,
				label, strings.Join([]string{label, label, label, label[:62]}, ".")),
			want: []string{
				".dnsNames[0]: " + noDNS, ".dnsNames[1]: " + noDNS, ".dnsNames[2]: " + noDNS, ".dnsNames[3]: " + noDNS, ".dnsNames[4]: " + noDNS,
				".dnsNames[5]: " + noDNS, ".dnsNames[6]: " + noDNS, ".dnsNames[7]: " + noDNS, ".dnsNames[8]: " + noDNS, ".dnsNames[9]: " + noDNS,
				".dnsNames[10]: " + noDNS, ".dnsNames[11]: " + noDNS, ".dnsNames[12]: " + noDNS,
				".dnsNames[13]: has 254 characters, over the limit of 253",
			},
		},
		"Wildcards": {
			reason: "RFC 6125: the left-most label, and all of it",
			in:     `{ca: root, dnsNames: ["*", "*.", "a.*.b", "a*.b", "*a.b", "**.b", "*.*.b"]}`,
			want: []string{
				".dnsNames[0]: " + badStar, ".dnsNames[1]: " + noDNS, ".dnsNames[2]: " + badStar, ".dnsNames[3]: " + badStar,
				".dnsNames[4]: " + badStar, ".dnsNames[5]: " + badStar, ".dnsNames[6]: " + badStar,
			},
		},
		"AddressAsName": {
			reason: "no client looks for an address among the names",
			in:     `{ca: root, dnsNames: [10.0.0.1, "::1"]}`,
			want:   []string{".dnsNames[0]: is an IP address: list it in ipAddresses", ".dnsNames[1]: is an IP address: list it in ipAddresses"},
		},
		"IPAddresses": {
			reason: "what is no address",
			in:     `{ca: root, ipAddresses: ["", localhost, 10.0.0.0/8, 10.0.0.256, 010.0.0.1, "[::1]", "fe80::1%eth0"]}`,
			want: []string{
				".ipAddresses[0]: " + noIP, ".ipAddresses[1]: " + noIP, ".ipAddresses[2]: " + noIP, ".ipAddresses[3]: " + noIP,
				".ipAddresses[4]: " + noIP, ".ipAddresses[5]: " + noIP,
				".ipAddresses[6]: has a zone, which is only valid on one host: leave out the '%' and the text after it",
			},
		},
		"Many": {
			reason: "a list over its limit is not looked at",
			in:     `{ca: root, dnsNames: [` + strings.Repeat("'',", 65) + `], ipAddresses: [` + strings.Repeat("a,", 65) + `]}`,
			want: []string{
				".dnsNames: has 65 items, over the limit of 64: add another certificate for some of them",
				".ipAddresses: has 65 items, over the limit of 64: add another certificate for some of them",
			},
		},
		"DurationShort": {
			reason: "too short for all to have the next one in time; renewBefore is not held against it",
			in:     `{ca: root, dnsNames: [a], duration: 59m59s, renewBefore: 100h}`,
			want:   []string{".duration: is 59m59s: must be from 1h to 876000h, 100 years"},
		},
		"DurationLong": {
			reason: "a slip of the pen",
			in:     `{ca: root, dnsNames: [a], duration: 876000h1s}`,
			want:   []string{".duration: is 876000h0m1s: must be from 1h to 876000h, 100 years"},
		},
		"RenewBeforeLong": {
			reason: "each reconcile would make a new one",
			in:     `{ca: root, dnsNames: [a], duration: 90h, renewBefore: 90h}`,
			want:   []string{".renewBefore: is 90h: must be from 5m to 89h55m with a duration of 90h"},
		},
		"RenewBeforeDefault": {
			reason: "the default is said, for nobody wrote it",
			in:     `{ca: root, dnsNames: [a], renewBefore: 2159h55m1s}`,
			want:   []string{".renewBefore: is 2159h55m1s: must be from 5m to 2159h55m with a duration of 2160h"},
		},
		"RenewBeforeShort": {
			reason: "it would be over before another one was made",
			in:     `{isCA: true, subject: {commonName: a}, renewBefore: 4m59s}`,
			want:   []string{".renewBefore: is 4m59s: must be from 5m to 87599h55m with a duration of 87600h"},
		},
		"RenewBeforeZero": {
			reason: "a zero that is set is no default",
			in:     `{ca: root, dnsNames: [a], duration: 1h30m, renewBefore: 0s}`,
			want:   []string{".renewBefore: is 0s: must be from 5m to 1h25m with a duration of 1h30m"},
		},
		"KeyType": {
			reason: "no other keys",
			in:     `{ca: root, dnsNames: [a], keyType: RSA}`,
			want:   []string{".keyType: must be ecdsa, rsa or ed25519"},
		},
		"Several": {
			reason: "all faults at once",
			in:     `{isCA: true, ca: root, dnsNames: [-], ipAddresses: [x], subject: {commonName: "\n"}, duration: -1h, keyType: dsa}`,
			want: []string{
				".ca: must not be set for a CA, which signs itself",
				".subject.commonName: " + notShown,
				".dnsNames[0]: " + noDNS,
				".ipAddresses[0]: " + noIP,
				".isCA: must not be set with dnsNames or ipAddresses: a CA only signs: add another certificate with them, and set its ca to this generator",
				".duration: is -1h: must be from 1h to 876000h, 100 years",
				".keyType: must be ecdsa, rsa or ed25519",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, faults := CompileCertificate(field.NewPath("certificate"), certificateInput(t, tc.in))
			var got []string
			for _, f := range faultTexts(faults) {
				got = append(got, strings.TrimPrefix(f, "certificate"))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if (c == nil) != (len(tc.want) > 0) {
				t.Errorf("%s\na certificate %v with faults %v", tc.reason, c, faults)
			}
		})
	}
}

func TestCertificateNamesItsCA(t *testing.T) {
	for in, want := range map[string]string{rootInput: "", leafInput: "root", `{subject: {commonName: a}}`: ""} {
		if got := certificate(t, in).CA(); got != want {
			t.Errorf("%s: signed by %q", in, got)
		}
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

// The caller may change the input after it is compiled.
func TestCertificateKeepsNoInput(t *testing.T) {
	in := certificateInput(t, `{subject: {commonName: a, organizations: [b]}, dnsNames: [c], ipAddresses: [10.0.0.1]}`)
	c, faults := CompileCertificate(nil, in)
	if len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	in.DNSNames[0], in.IPAddresses[0], in.Subject.Organizations[0], in.Subject.CommonName = "x", "x", "x", "x"
	got := parsed(t, mustMake(t, c, time.Unix(0, 0), nil), tlsCert)
	if diff := cmp.Diff([]string{"CN=a,O=b", "[c]", "[10.0.0.1]"}, []string{got.Subject.String(), fmt.Sprint(got.DNSNames), fmt.Sprint(got.IPAddresses)}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
