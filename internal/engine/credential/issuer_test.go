package credential

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

const (
	rootInput = `{isCA: true, subject: {commonName: root, organizations: [Acme]}}`
	leafInput = `{ca: root, subject: {commonName: shop}, dnsNames: [shop.example, "*.shop.example"], ipAddresses: [10.0.0.1, "fd00::1", "::ffff:10.0.0.2"]}`
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
	_, err := parsed(t, o, tlsCert).Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage}})
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
			usage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, subject: "CN=root,O=Acme", dns: "[]", ip: "[]", days: 3650,
		},
		"CAOfRSA": {
			reason: "its key does not change what a CA is for", in: `{isCA: true, subject: {commonName: root}, keyType: rsa, duration: 24h}`, algorithm: x509.RSA,
			usage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, subject: "CN=root", dns: "[]", ip: "[]", days: 1,
		},
		"SelfSigned": {
			reason: "a certificate that signs itself is no CA", in: strings.Replace(leafInput, "ca: root, ", "", 1), algorithm: x509.ECDSA,
			usage: leafUsage, extended: both, subject: "CN=shop", dns: "[shop.example *.shop.example]", ip: "[10.0.0.1 fd00::1 10.0.0.2]", days: 90,
		},
		"Leaf": {
			reason: "the usual one", in: leafInput, signed: true, algorithm: x509.ECDSA,
			usage: leafUsage, extended: both, subject: "CN=shop", dns: "[shop.example *.shop.example]", ip: "[10.0.0.1 fd00::1 10.0.0.2]", days: 90,
		},
		"LeafOfRSA": {
			reason: "old TLS encrypts a key for RSA", in: `{ca: root, dnsNames: [a], keyType: rsa, duration: 48h}`, signed: true, algorithm: x509.RSA,
			usage: leafUsage | x509.KeyUsageKeyEncipherment, extended: both, dns: "[a]", ip: "[]", days: 2,
		},
		"LeafOfED25519": {
			reason: "the third type", in: `{ca: root, subject: {organizations: [b, a]}, keyType: ed25519}`, signed: true, algorithm: x509.Ed25519,
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
			haveKeys(t, o, c.Keys())
			got := parsed(t, o, tlsCert)
			isCA := tc.extended == nil
			if got.PublicKeyAlgorithm != tc.algorithm || got.KeyUsage != tc.usage || got.IsCA != isCA || !got.BasicConstraintsValid || got.MaxPathLenZero != isCA {
				t.Errorf("%s\n%s, usage %b, CA %t and %t, path %t", tc.reason, got.PublicKeyAlgorithm, got.KeyUsage, got.IsCA, got.BasicConstraintsValid, got.MaxPathLenZero)
			}
			want := []any{tc.extended, tc.subject, tc.dns, tc.ip}
			if diff := cmp.Diff(want, []any{got.ExtKeyUsage, got.Subject.String(), fmt.Sprint(got.DNSNames), fmt.Sprint(got.IPAddresses)}); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			from, to := noon.Add(-5*time.Minute).Truncate(time.Second), noon.AddDate(0, 0, tc.days).Truncate(time.Second)
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
			if tc.signed == bytes.Equal(o[caCert].Reveal(), o[tlsCert].Reveal()) || tc.signed && !bytes.Equal(o[caCert].Reveal(), root[tlsCert].Reveal()) {
				t.Errorf("%s\nit has another CA", tc.reason)
			}
			if bits := map[x509.PublicKeyAlgorithm]int{x509.ECDSA: 256, x509.RSA: 3072, x509.Ed25519: 256}[tc.algorithm]; bitsOfPublic(t, got.PublicKey) != bits {
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

func TestCertificateVerifiesHosts(t *testing.T) {
	root := mustMake(t, certificate(t, rootInput), noon, nil)
	leaf := mustMake(t, certificate(t, leafInput), noon, issuerOf(t, root))
	for host, want := range map[string]bool{
		"shop.example": true, "a.shop.example": true, "10.0.0.1": true, "fd00::1": true, "10.0.0.2": true,
		"shop": false, "a.b.shop.example": false, "example": false, "10.0.0.3": false,
	} {
		if err := verify(t, leaf, noon, host, x509.ExtKeyUsageServerAuth); (err == nil) != want {
			t.Errorf("host %s: %v", host, err)
		}
	}
	// Another CA of the same name did not sign it.
	other := mustMake(t, certificate(t, rootInput), noon, nil)
	forged := maps.Clone(leaf)
	forged[caCert] = other[tlsCert]
	if err := verify(t, forged, noon, "shop.example", x509.ExtKeyUsageServerAuth); err == nil {
		t.Error("another CA of the same name verifies it")
	}
	// A CA signs no other CA.
	sub := certificate(t, `{isCA: true, subject: {commonName: sub}}`)
	sub.ca = "root"
	under := mustMake(t, certificate(t, leafInput), noon, issuerOf(t, mustMake(t, sub, noon, issuerOf(t, root))))
	pool, between := x509.NewCertPool(), x509.NewCertPool()
	pool.AddCert(parsed(t, root, tlsCert))
	between.AddCert(parsed(t, under, caCert))
	if _, err := parsed(t, under, tlsCert).Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, CurrentTime: noon}); err == nil {
		t.Error("a CA below the CA is trusted")
	}
}

// A server and a client with no more than the outputs of one leaf.
func TestCertificateInTLS(t *testing.T) {
	for _, keyType := range []string{"ecdsa", "rsa", "ed25519"} {
		t.Run(keyType, func(t *testing.T) {
			now := time.Now()
			root := mustMake(t, certificate(t, strings.Replace(rootInput, "{", "{keyType: "+keyType+", ", 1)), now, nil)
			leaf := mustMake(t, certificate(t, strings.Replace(leafInput, "{", "{keyType: "+keyType+", ", 1)), now, issuerOf(t, root))
			pair, err := tls.X509KeyPair(leaf[tlsCert].Reveal(), leaf[tlsKey].Reveal())
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(leaf[caCert].Reveal())
			config := &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert, ServerName: "a.shop.example"}
			near, far := net.Pipe()
			defer near.Close()
			server := make(chan error, 1)
			go func() { server <- tls.Server(far, config).Handshake() }()
			if err := tls.Client(near, config).Handshake(); err != nil {
				t.Errorf("client: %s", err)
			}
			if err := <-server; err != nil {
				t.Errorf("server: %s", err)
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
			reason: "it ends before its CA does", in: `{ca: root, dnsNames: [a], duration: 72h, renewBefore: 12h}`, now: noon.Add(day),
			from: noon.Add(day - 5*time.Minute), to: noon.Add(4 * day), next: noon.Add(4*day - 12*time.Hour),
		},
		"Default": {
			reason: "a third is left", in: `{ca: root, dnsNames: [a], duration: 72h}`, now: noon.Add(day),
			from: noon.Add(day - 5*time.Minute), to: noon.Add(4 * day), next: noon.Add(3 * day),
		},
		"Same": {
			reason: "both end at once, and another one would, too", in: `{ca: root, dnsNames: [a], duration: 240h}`, now: noon,
			from: noon.Add(-5 * time.Minute), to: end, next: end,
		},
		"Cut": {
			reason: "it waits for the next CA, or each reconcile would make another one", in: `{ca: root, dnsNames: [a], duration: 240h, renewBefore: 120h}`, now: noon.Add(9 * day),
			from: noon.Add(9*day - 5*time.Minute), to: end, next: end,
		},
		"Early": {
			reason: "the clock that made the CA was ahead", in: `{ca: root, dnsNames: [a], duration: 72h}`, now: noon.Add(-2 * time.Minute),
			from: noon.Add(-5 * time.Minute), to: noon.Add(3*day - 2*time.Minute), next: noon.Add(2*day - 2*time.Minute),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := certificate(t, tc.in)
			o := mustMake(t, c, tc.now, issuerOf(t, root))
			got := parsed(t, o, tlsCert)
			next, err := c.RenewAt(o)
			if err != nil {
				t.Fatal(err)
			}
			for what, times := range map[string][2]time.Time{"from": {tc.from, got.NotBefore}, "to": {tc.to, got.NotAfter}, "renewed at": {tc.next, next}} {
				if want := times[0].Truncate(time.Second); !want.Equal(times[1]) {
					t.Errorf("%s\n%s %s, not %s", tc.reason, what, times[1], want)
				}
			}
			if !next.After(tc.now) {
				t.Errorf("%s\nto be followed at once", tc.reason)
			}
		})
	}
	for name, in := range map[string]string{"CA": rootInput, "SelfSigned": `{subject: {commonName: a}, duration: 87600h}`} {
		c := certificate(t, in)
		want := noon.Add(87600 * time.Hour * 2 / 3).Truncate(time.Second)
		if got, err := c.RenewAt(mustMake(t, c, noon, nil)); err != nil || !got.Equal(want) {
			t.Errorf("%s: its own end is no reason to wait for: renewed at %s, not %s: %v", name, got, want, err)
		}
	}
}

func TestCertificateMakeErrors(t *testing.T) {
	root := issuerOf(t, mustMake(t, certificate(t, `{isCA: true, subject: {commonName: root}, duration: 1h}`), noon, nil))
	cases := map[string]struct {
		reason string
		in     string
		now    time.Time
		issuer *Issuer
		want   string
	}{
		"NoIssuer": {reason: "the CA is not there yet", in: leafInput, now: noon, want: "cannot sign without a CA"},
		"Ended":    {reason: "nothing that it signs is valid", in: leafInput, now: noon.Add(time.Hour), issuer: root, want: "cannot sign with a CA that was valid until 2026-07-01T11:00:00Z: rotate the CA"},
		"Ends":     {reason: "nor is it in the moment it ends", in: leafInput, now: noon.Add(time.Hour).Truncate(time.Second), issuer: root, want: "cannot sign with a CA that was valid until 2026-07-01T11:00:00Z: rotate the CA"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, err := certificate(t, tc.in).Make(From{Now: tc.now, Issuer: tc.issuer})
			if err == nil || err.Error() != tc.want || o != nil {
				t.Errorf("%s\n%v, %v", tc.reason, o, err)
			}
		})
	}
	if _, err := certificate(t, leafInput).Make(From{Now: noon.Add(time.Hour - time.Second), Issuer: root}); err != nil {
		t.Errorf("the last second of a CA: %s", err)
	}
}

func TestCertificateIssuedBy(t *testing.T) {
	ca, c := certificate(t, rootInput), certificate(t, leafInput)
	old := issuerOf(t, mustMake(t, ca, noon, nil))
	leaf := mustMake(t, c, noon, old)
	if !c.IssuedBy(leaf, old) {
		t.Error("not issued by its CA")
	}
	if c.IssuedBy(leaf, issuerOf(t, mustMake(t, ca, noon, nil))) {
		t.Error("issued by the next generation of its CA")
	}
	renamed := *old.cert
	renamed.RawSubject = c.template.RawSubject
	if c.IssuedBy(leaf, &Issuer{cert: &renamed, key: old.key}) {
		t.Error("issued by a CA of another name")
	}
	if self := mustMake(t, certificate(t, `{subject: {commonName: shop}}`), noon, nil); c.IssuedBy(self, old) {
		t.Error("what signed itself is issued by a CA")
	}
	if c.IssuedBy(nil, old) || c.IssuedBy(Outputs{tlsCert: sensitive.FromString("x")}, old) {
		t.Error("what is no certificate is issued by a CA")
	}
}

// A changed certificate or key is an error, and the error does not quote it.
func TestParseIssuerErrors(t *testing.T) {
	const canary = "hunter2canary"
	root, other := mustMake(t, certificate(t, rootInput), noon, nil), mustMake(t, certificate(t, rootInput), noon, nil)
	leaf := mustMake(t, certificate(t, leafInput), noon, issuerOf(t, root))
	text := sensitive.FromString
	const noPair, noCA = "tls.crt and tls.key are not a certificate and its key in PEM", "tls.crt is not the certificate of a CA"
	cases := map[string]struct {
		reason string
		in     Outputs
		want   string
	}{
		"Nothing":  {"no outputs", nil, noPair},
		"Text":     {"no PEM", Outputs{tlsCert: text(canary), tlsKey: root[tlsKey]}, noPair},
		"Block":    {"PEM of nothing", Outputs{tlsCert: block(certificateBlock, []byte(canary)), tlsKey: root[tlsKey]}, noPair},
		"KeyBlock": {"PEM of nothing", Outputs{tlsCert: root[tlsCert], tlsKey: block("PRIVATE KEY", []byte(canary))}, noPair},
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
		if at, err := certificate(t, leafInput).RenewAt(o); err == nil || !at.IsZero() || !strings.HasSuffix(err.Error(), " is not a certificate in PEM") {
			t.Errorf("RenewAt of %s: %s, %v", name, at, err)
		}
	}
}

// An issuer needs both the key usage for signing and the basic constraint of a CA. Generated CA
// certificates have both.
func TestParseIssuerThatMayNotSign(t *testing.T) {
	for name, change := range map[string]func(*x509.Certificate){
		"Usage": func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCRLSign },
		"NoCA":  func(c *x509.Certificate) { c.IsCA, c.MaxPathLenZero = false, false },
	} {
		ca := certificate(t, rootInput)
		change(&ca.template)
		if _, err := ParseIssuer(mustMake(t, ca, noon, nil)); err == nil || err.Error() != "tls.crt is not the certificate of a CA" {
			t.Errorf("%s: it may sign no certificate: %v", name, err)
		}
	}
}

// Whatever prints an issuer prints no key.
func TestIssuerDoesNotPrintItsKey(t *testing.T) {
	issuer := issuerOf(t, mustMake(t, certificate(t, `{isCA: true, subject: {commonName: a}, keyType: ed25519}`), noon, nil))
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

func FuzzCompileCertificateMakesWhatParses(f *testing.F) {
	f.Add("shop", "Acme", "shop.example", "10.0.0.1", int64(90*time.Minute), int64(10*time.Minute), false, false, int64(1e9))
	f.Add("root", "", "", "", int64(87600*time.Hour), int64(0), true, false, int64(0))
	f.Add("", "", "*.a", "fd00::1", int64(876000*time.Hour), int64(5*time.Minute), false, true, int64(4e9))
	root := certificate(f, rootInput)
	f.Fuzz(func(t *testing.T, commonName, organization, dns, ip string, duration, renewBefore int64, isCA, signed bool, now int64) {
		in := &v1beta1.CertificateGenerator{IsCA: isCA, Duration: &v1beta1.Duration{Duration: time.Duration(duration)}, KeyType: "ed25519", Subject: &v1beta1.CertificateSubject{CommonName: commonName}}
		if renewBefore != 0 {
			in.RenewBefore = &v1beta1.Duration{Duration: time.Duration(renewBefore)}
		}
		if organization != "" {
			in.Subject.Organizations = []string{organization, "b"}
		}
		if dns != "" {
			in.DNSNames = []string{dns}
		}
		if ip != "" {
			in.IPAddresses = []string{ip}
		}
		at := time.Unix(now&(1<<32-1), 0) // to 2106
		var issuer *Issuer
		if signed {
			in.CA, issuer = "root", issuerOf(t, mustMake(t, root, at, nil))
		}
		c, diagnostics := CompileCertificate(field.NewPath("certificate"), in)
		definition := utf8.ValidString(commonName+organization) && commonName != "" && !(isCA && (signed || dns+ip != "")) &&
			in.Duration.Duration >= time.Hour && in.Duration.Duration <= 876000*time.Hour &&
			(renewBefore == 0 || in.RenewBefore.Duration >= 5*time.Minute)
		if len(diagnostics) > 0 || !definition || signed && c.CheckCA(nil, root) != nil {
			return
		}
		o := mustMake(t, c, at, issuer)
		got := parsed(t, o, tlsCert)
		if got.Subject.CommonName != commonName || len(got.DNSNames) != len(in.DNSNames) || len(got.IPAddresses) != len(in.IPAddresses) {
			t.Errorf("made %s, %s, %s of %+v", got.Subject, got.DNSNames, got.IPAddresses, in)
		}
		next, err := c.RenewAt(o)
		if err != nil || !next.After(at) || next.After(got.NotAfter) {
			t.Errorf("made at %s, to be followed at %s, ends at %s: %v", at, next, got.NotAfter, err)
		}
		host := strings.Replace(dns, "*", "x", 1)
		if err := verify(t, o, at, host, x509.ExtKeyUsageAny); err != nil {
			t.Errorf("%+v: %s", in, err)
		}
	})
}
