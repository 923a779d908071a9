package credential

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
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
	noDNS = "is not a DNS name: each of its labels must have 1 to 63 letters, digits and '-', and not start or end " +
		"with '-', and only the first one may be '*'"
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
		"DNSNames": {
			reason: "no DNS name",
			in: fmt.Sprintf(`{ca: root, dnsNames: ["", ".", a., .a, a..b, -a, a-, "a b", büro.example, a_b, `+
				`"https://a", "a:443", %q, "*", "*.", "a.*.b", "a*.b", "*a.b"]}`, label+"a"),
			want: noNames,
		},
		"AddressAsName": {
			reason: "no client looks for an address among the names",
			in:     `{ca: root, dnsNames: [10.0.0.1, "::1"]}`,
			want: []string{".dnsNames[0]: is an IP address: list it in ipAddresses",
				".dnsNames[1]: is an IP address: list it in ipAddresses"},
		},
		"IPAddresses": {
			reason: "no address, and a zone is only valid on one host",
			in:     `{ca: root, ipAddresses: ["", 10.0.0.0/8, 010.0.0.1, "fe80::1%eth0"]}`,
			want: []string{".ipAddresses[0]: " + noIP, ".ipAddresses[1]: " + noIP, ".ipAddresses[2]: " + noIP,
				".ipAddresses[3]: " + noIP},
		},
		"RenewBeforeLong": {
			reason: "each reconcile would make a new one",
			in:     `{ca: root, dnsNames: [a], duration: 90h, renewBefore: 90h}`,
			want:   []string{".renewBefore: is 90h: must be from 5m to 89h55m with a duration of 90h"},
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
		"Good": {reason: "a CA, and another subject", ca: root, in: `{ca: root, subject: {commonName: root}}`},
		"NoCA": {reason: "others would not trust what it signs", ca: `{subject: {commonName: root}}`,
			in: `{ca: root, dnsNames: [a]}`, want: "generators[1].certificate.ca: names a certificate that is not a " +
				"CA: set its isCA to true"},
		"SameName": {reason: "who issued it is told by the name", ca: root,
			in: `{ca: root, subject: {commonName: root, organizations: [b, a]}}`,
			want: "generators[1].certificate.subject: is also the subject of the CA, so that the certificate " +
				"would seem to sign itself: set another commonName"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if f := certificate(t, tc.in).CheckCA(field.NewPath("generators").Index(1).Child("certificate"),
				certificate(t, tc.ca)); f != nil {
				got = f.Field + ": " + f.Detail
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

const (
	rootInput = `{isCA: true, subject: {commonName: root, organizations: [Acme]}}`
	leafInput = `{ca: root, subject: {commonName: shop}, dnsNames: [shop.example, "*.shop.example"], ipAddresses: ` +
		`[10.0.0.1, "fd00::1", "::ffff:10.0.0.2"]}`
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 999, time.FixedZone("", 7200))

func mustMake(t testing.TB, c *Certificate, now time.Time, issuer *Issuer) Outputs {
	t.Helper()
	o, err := c.Make(From{Now: now, Issuer: issuer})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func issuerOf(t testing.TB, o Outputs) *Issuer {
	t.Helper()
	issuer, err := ParseIssuer(o)
	if err != nil {
		t.Fatal(err)
	}
	return issuer
}

// parsed is read by the standard library alone.
func parsed(t testing.TB, o Outputs, key string) *x509.Certificate {
	t.Helper()
	b, rest := pem.Decode(o[key].Reveal())
	if b == nil || b.Type != "CERTIFICATE" || len(rest) > 0 {
		t.Fatalf("%s is not a certificate in PEM", key)
	}
	cert, err := x509.ParseCertificate(b.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func verify(t testing.TB, o Outputs, now time.Time, host string, usage x509.ExtKeyUsage) error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(parsed(t, o, caCert))
	_, err := parsed(t, o, tlsCert).Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: host,
		KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}

func TestCertificateParsesBack(t *testing.T) {
	const leafUsage = x509.KeyUsageDigitalSignature
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	cases := map[string]struct {
		reason    string
		in        string
		signed    bool
		algorithm x509.PublicKeyAlgorithm
		usage     x509.KeyUsage
		extended  []x509.ExtKeyUsage
		subject   string
		dns, ip   string
		days      int
	}{
		"CA": {
			reason: "a CA signs certificates and revocation lists, for ten years", in: rootInput, algorithm: x509.ECDSA,
			usage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, subject: "CN=root,O=Acme", dns: "[]", ip: "[]",
			days: 3650,
		},
		"Leaf": {
			reason: "the usual one", in: leafInput, signed: true, algorithm: x509.ECDSA,
			usage: leafUsage, extended: both, subject: "CN=shop", dns: "[shop.example *.shop.example]",
			ip: "[10.0.0.1 fd00::1 10.0.0.2]", days: 90,
		},
		"LeafOfED25519": {
			reason: "the third type", in: `{ca: root, subject: {organizations: [b, a]}, keyType: ed25519}`,
			signed: true, algorithm: x509.Ed25519,
			usage: leafUsage, extended: both, subject: "O=a+O=b", dns: "[]", ip: "[]", days: 90,
		},
	}
	root := mustMake(t, certificate(t, rootInput), noon, nil)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := certificate(t, tc.in)
			var issuer *Issuer
			if tc.signed {
				issuer = issuerOf(t, root)
			}
			o := mustMake(t, c, noon, issuer)
			haveKeys(t, o, c.Keys)
			got := parsed(t, o, tlsCert)
			isCA := tc.extended == nil
			if got.PublicKeyAlgorithm != tc.algorithm || got.KeyUsage != tc.usage || got.IsCA != isCA ||
				!got.BasicConstraintsValid || got.MaxPathLenZero != isCA {
				t.Errorf("%s\n%s, usage %b, CA %t and %t, path %t", tc.reason, got.PublicKeyAlgorithm, got.KeyUsage,
					got.IsCA, got.BasicConstraintsValid, got.MaxPathLenZero)
			}
			want := []any{tc.extended, tc.subject, tc.dns, tc.ip}
			if diff := cmp.Diff(want, []any{got.ExtKeyUsage, got.Subject.String(), fmt.Sprint(got.DNSNames),
				fmt.Sprint(got.IPAddresses)}); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			from, to := noon.Add(-5*time.Minute).Truncate(time.Second),
				noon.AddDate(0, 0, tc.days).Truncate(time.Second)
			if !got.NotBefore.Equal(from) || !got.NotAfter.Equal(to) {
				t.Errorf("%s\nvalid from %s to %s, not from %s to %s", tc.reason, got.NotBefore, got.NotAfter, from, to)
			}
			usage := x509.ExtKeyUsageClientAuth
			if isCA {
				usage = x509.ExtKeyUsageAny
			}
			if err := verify(t, o, noon, "", usage); err != nil {
				t.Errorf("%s\n%s", tc.reason, err)
			}
			if tc.signed == bytes.Equal(o[caCert].Reveal(), o[tlsCert].Reveal()) || tc.signed &&
				!bytes.Equal(o[caCert].Reveal(), root[tlsCert].Reveal()) {
				t.Errorf("%s\nit has another CA", tc.reason)
			}
			if bits := map[x509.PublicKeyAlgorithm]int{x509.ECDSA: 256, x509.RSA: 3072,
				x509.Ed25519: 256}[tc.algorithm]; bitsOfPublic(t, got.PublicKey) != bits {
				t.Errorf("%s\na key of %d bits, not %d", tc.reason, bitsOfPublic(t, got.PublicKey), bits)
			}
			b, rest := pem.Decode(o[tlsKey].Reveal())
			if key, err := x509.ParsePKCS8PrivateKey(b.Bytes); err != nil || b.Type != "PRIVATE KEY" || len(rest) > 0 {
				t.Errorf("%s\na key %T in %s: %v", tc.reason, key, b.Type, err)
			}
			if _, err := tls.X509KeyPair(o[tlsCert].Reveal(), o[tlsKey].Reveal()); err != nil {
				t.Errorf("%s\n%s", tc.reason, err)
			}
		})
	}
}

func TestCertificateIsCutToItsCA(t *testing.T) {
	day := 24 * time.Hour
	issue := func(in string, at time.Time) Outputs { return mustMake(t, certificate(t, in), at, nil) }
	root := issue(`{isCA: true, subject: {commonName: root}, duration: 240h}`, noon)
	end := noon.Add(10 * day).Truncate(time.Second)
	cases := map[string]struct {
		reason         string
		in             string
		now            time.Time
		from, to, next time.Time
	}{
		"Within": {
			reason: "it ends before its CA does", in: `{ca: root, dnsNames: [a], duration: 72h, renewBefore: 12h}`,
			now:  noon.Add(day),
			from: noon.Add(day - 5*time.Minute), to: noon.Add(4 * day), next: noon.Add(4*day - 12*time.Hour),
		},
		"Same": {
			reason: "both end at once, and another one would, too", in: `{ca: root, dnsNames: [a], duration: 240h}`,
			now:  noon,
			from: noon.Add(-5 * time.Minute), to: end, next: end,
		},
		"Cut": {
			reason: "it waits for the next CA, or each reconcile would make another one",
			in:     `{ca: root, dnsNames: [a], duration: 240h, renewBefore: 120h}`, now: noon.Add(9 * day),
			from: noon.Add(9*day - 5*time.Minute), to: end, next: end,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := certificate(t, tc.in)
			o := mustMake(t, c, tc.now, issuerOf(t, root))
			got := parsed(t, o, tlsCert)
			next, _ := c.RenewAt(o)
			for what, times := range map[string][2]time.Time{"from": {tc.from, got.NotBefore},
				"to": {tc.to, got.NotAfter}, "renewed at": {tc.next, next}} {
				if want := times[0].Truncate(time.Second); !want.Equal(times[1]) {
					t.Errorf("%s\n%s %s, not %s", tc.reason, what, times[1], want)
				}
			}
			if !next.After(tc.now) {
				t.Errorf("%s\nto be followed at once", tc.reason)
			}
		})
	}
	for name, in := range map[string]string{"CA": rootInput,
		"SelfSigned": `{subject: {commonName: a}, duration: 87600h}`} {
		c := certificate(t, in)
		want := noon.Add(87600 * time.Hour * 2 / 3).Truncate(time.Second)
		if got, _ := c.RenewAt(mustMake(t, c, noon, nil)); !got.Equal(want) {
			t.Errorf("%s: its own end is no reason to wait for: renewed at %s, not %s", name, got, want)
		}
	}
}

func TestCertificateMakeErrors(t *testing.T) {
	root := issuerOf(t, mustMake(t, certificate(t, `{isCA: true, subject: {commonName: root}, duration: 1h}`), noon,
		nil))
	cases := map[string]struct {
		reason string
		in     string
		now    time.Time
		issuer *Issuer
		want   string
	}{
		"NoIssuer": {reason: "the CA is not there yet", in: leafInput, now: noon, want: "cannot sign without a CA"},
		"Ended": {reason: "nothing that it signs is valid", in: leafInput, now: noon.Add(time.Hour), issuer: root,
			want: "cannot sign with a CA that was valid until 2026-07-01T11:00:00Z: rotate the CA"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, err := certificate(t, tc.in).Make(From{Now: tc.now, Issuer: tc.issuer})
			if err == nil || err.Error() != tc.want || o != nil {
				t.Errorf("%s\n%v, %v", tc.reason, o, err)
			}
		})
	}
	if _, err := certificate(t, leafInput).Make(From{Now: noon.Add(time.Hour - time.Second),
		Issuer: root}); err != nil {
		t.Errorf("the last second of a CA: %s", err)
	}
}

// A changed certificate or key is an error, and the error does not quote it.
func TestParseIssuerErrors(t *testing.T) {
	const canary = "hunter2canary"
	root, other := mustMake(t, certificate(t, rootInput), noon, nil), mustMake(t, certificate(t, rootInput), noon, nil)
	leaf := mustMake(t, certificate(t, leafInput), noon, issuerOf(t, root))
	text := sensitive.FromString
	const noPair, noCA = "tls.crt and tls.key are not a certificate and its key in PEM",
		"tls.crt is not the certificate of a CA"
	cases := map[string]struct {
		reason string
		in     Outputs
		want   string
	}{
		"Nothing":  {"no outputs", nil, noPair},
		"Text":     {"no PEM", Outputs{tlsCert: text(canary), tlsKey: root[tlsKey]}, noPair},
		"OtherKey": {"the key of another generation", Outputs{tlsCert: root[tlsCert], tlsKey: other[tlsKey]}, noPair},
		"Leaf":     {"others would not trust what it signs", leaf, noCA},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			issuer, err := ParseIssuer(tc.in)
			if err == nil || err.Error() != tc.want || issuer != nil {
				t.Errorf("%s\n%v, %v", tc.reason, issuer, err)
			}
		})
	}
	for name, o := range map[string]Outputs{
		"Nothing": nil, "NoCA": {tlsCert: leaf[tlsCert]}, "Text": {tlsCert: text(canary), caCert: text(canary)},
		"Type": {tlsCert: block(canary, parsed(t, leaf, tlsCert).Raw), caCert: leaf[caCert]},
	} {
		if at, end := certificate(t, leafInput).RenewAt(o); !at.IsZero() || !end.IsZero() {
			t.Errorf("RenewAt of %s: %s, %s", name, at, end)
		}
	}
}

// Whatever prints an issuer prints no key.
func TestIssuerDoesNotPrintItsKey(t *testing.T) {
	issuer := issuerOf(t, mustMake(t, certificate(t, `{isCA: true, subject: {commonName: a}, keyType: ed25519}`), noon,
		nil))
	key, err := x509.MarshalPKCS8PrivateKey(issuer.key())
	if err != nil {
		t.Fatal(err)
	}
	seed := key[len(key)-32:]
	for _, text := range []string{fmt.Sprintf("%+v", *issuer), fmt.Sprintf("%#v", struct{ i Issuer }{*issuer})} {
		for _, form := range []string{"%v", "%x", "%#v"} {
			if strings.Contains(text, strings.Trim(fmt.Sprintf(form, seed), "[]")) {
				t.Errorf("printed as %s", form)
			}
		}
	}
}
