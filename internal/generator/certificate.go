package generator

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/limits"
)

// Limits of a certificate.
const (
	// With a shorter duration, a certificate could end before all of its users have the next one. A longer duration is
	// a mistake.
	minDuration = time.Hour
	maxDuration = 100 * 365 * 24 * time.Hour

	// minRenewal is the minimum time between the renewal and the end of a certificate, because the certificate is only
	// renewed during a reconcile. It is also the minimum time before the renewal. Otherwise, each reconcile would
	// generate another certificate.
	minRenewal = 5 * time.Minute

	// maxName is the limit of RFC 5280 for common names and organizations, in characters.
	maxName = 64

	// maxOrganizations is the limit of the input's schema.
	maxOrganizations = 16

	// The limits of RFC 1035, in bytes.
	maxDNSName = 253
	maxLabel   = 63
)

// A Certificate generates certificates and their keys. It is immutable, and safe for concurrent use.
type Certificate struct {
	// template has no serial number and no validity.
	template x509.Certificate

	ca                    string
	newKey                keyFunc
	keyFormat             string
	duration, renewBefore time.Duration
}

// CompileCertificate compiles a section of the input at a path, or returns all diagnostics. It does not check the
// generator of the CA: see [Certificate.CheckCA].
func CompileCertificate(at *field.Path, in *v1beta1.CertificateGenerator) (*Certificate, field.ErrorList) {
	k := &certificateCompiler{in: in, out: &Certificate{
		ca: in.CA, newKey: certificateKey(in.KeyType), keyFormat: in.KeyFormat,
	}}
	if in.IsCA && in.CA != "" {
		k.refuse(at.Child("ca"), "must not be set for a CA, which signs itself")
	}
	k.subject(at.Child("subject"))
	k.dnsNames(at.Child("dnsNames"))
	k.ipAddresses(at.Child("ipAddresses"))
	k.named(at)
	k.times(at)
	if k.out.newKey == nil {
		k.refuse(at.Child("keyType"), "must be ecdsa, rsa or ed25519")
	}
	k.keyFormat(at.Child("keyFormat"))
	if len(k.errs) > 0 {
		return nil, k.errs
	}
	k.usages()
	return k.out, nil
}

// CA returns the name of the generator of the CA, or an empty text for a self-signed certificate.
func (c *Certificate) CA() string { return c.ca }

// CheckCA returns the reason why ca cannot sign this certificate at the path, or nil.
func (c *Certificate) CheckCA(at *field.Path, ca *Certificate) *field.Error {
	switch {
	case !ca.template.IsCA:
		return invalid(at.Child("ca"), "names a certificate that is not a CA: set its isCA to true")
	case bytes.Equal(c.template.RawSubject, ca.template.RawSubject):
		return invalid(at.Child("subject"), "is also the subject of the CA, so that the certificate would seem to sign itself: "+
			"set another commonName")
	}
	return nil
}

// A certificateCompiler fills in a certificate.
type certificateCompiler struct {
	refusals

	in  *v1beta1.CertificateGenerator
	out *Certificate
}

func (k *certificateCompiler) keyFormat(at *field.Path) {
	switch f := k.in.KeyFormat; {
	case f == pkcs1Format && k.in.KeyType != rsaType:
		k.refuse(at, "must not be PKCS1 for this keyType, because only RSA keys have that format: "+
			"set keyType to rsa, or leave keyFormat out")
	case f != "" && f != pkcs8Format && f != pkcs1Format:
		k.refuse(at, "must be PKCS8 or PKCS1")
	}
}

func (k *certificateCompiler) subject(at *field.Path) {
	var name pkix.Name
	if in := k.in.Subject; in != nil {
		name = pkix.Name{CommonName: in.CommonName, Organization: in.Organizations}
		if name.CommonName == "" && len(name.Organization) == 0 {
			k.refuse(at, "must have commonName or organizations, or be left out")
		}
	}
	if why := wrongText(name.CommonName, maxName); why != "" {
		k.refuse(at.Child("commonName"), "%s", why)
	}
	if n := len(name.Organization); n > maxOrganizations {
		k.refuse(at.Child("organizations"), "has %d items, over the limit of %d", n, maxOrganizations)
		return
	}
	for i, o := range name.Organization {
		if why := wrongText(o, maxName); why != "" {
			k.refuse(at.Child("organizations").Index(i), "%s", why)
		} else if o == "" {
			k.refuse(at.Child("organizations").Index(i), "must not be empty")
		}
	}
	// It fails only for a text that is refused above.
	k.out.template.RawSubject, _ = asn1.Marshal(name.ToRDNSequence())
}

func (k *certificateCompiler) dnsNames(at *field.Path) {
	for i, name := range k.bounded(at, k.in.DNSNames) {
		if why := wrongDNSName(name); why != "" {
			k.refuse(at.Index(i), "%s", why)
		}
	}
	k.out.template.DNSNames = slices.Clone(k.in.DNSNames)
}

func wrongDNSName(name string) string {
	if _, err := netip.ParseAddr(name); err == nil {
		return "is an IP address: list it in ipAddresses"
	}
	rest := strings.TrimPrefix(name, "*.")
	if strings.Contains(rest, "*") {
		return "has a '*' that is not its whole first label, or has only one label"
	}
	if n := len(name); n > maxDNSName {
		return fmt.Sprintf("has %d characters, over the limit of %d", n, maxDNSName)
	}
	for label := range strings.SplitSeq(rest, ".") {
		if !isLabel(label) {
			return fmt.Sprintf("is not a DNS name: each of its labels must have 1 to %d letters, digits and '-', "+
				"and not start or end with '-'", maxLabel)
		}
	}
	return ""
}

func isLabel(s string) bool {
	const letters = lowerCase + upperCase + allDigits
	return s != "" && len(s) <= maxLabel && s[0] != '-' && s[len(s)-1] != '-' && strings.Trim(s, letters+"-") == ""
}

func (k *certificateCompiler) ipAddresses(at *field.Path) {
	for i, text := range k.bounded(at, k.in.IPAddresses) {
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			k.refuse(at.Index(i), "is not an IP address: write for example 10.0.0.1 or fd00::1")
		case a.Zone() != "":
			k.refuse(at.Index(i), "has a zone, which is only valid on one host: leave out the '%%' and the text after it")
		default:
			k.out.template.IPAddresses = append(k.out.template.IPAddresses, a.AsSlice())
		}
	}
}

// named checks that the certificate names its subject and its issuer.
func (k *certificateCompiler) named(at *field.Path) {
	switch names := len(k.in.DNSNames) + len(k.in.IPAddresses); {
	case k.in.IsCA && names > 0:
		k.refuse(at.Child("isCA"), "must not be set with dnsNames or ipAddresses: a CA only signs: "+
			"add another certificate with them, and set its ca to this generator")
	case k.in.CA == "" && k.in.Subject == nil:
		k.refuse(at.Child("subject"), "must be set for a self-signed certificate, because it is also the issuer: "+
			"set commonName")
	case k.in.Subject == nil && names == 0:
		k.refuse(at, "must have a name: set subject.commonName, dnsNames or ipAddresses")
	}
}

func (k *certificateCompiler) times(at *field.Path) {
	duration := 2160 * time.Hour
	switch {
	case k.in.Duration != nil:
		duration = k.in.Duration.Duration
	case k.in.IsCA:
		duration = 87600 * time.Hour
	}
	if duration < minDuration || duration > maxDuration {
		k.refuse(at.Child("duration"), "is %s: must be from %s to %s, 100 years",
			DurationText(duration), DurationText(minDuration), DurationText(maxDuration))
		return
	}
	renewBefore := duration / 3
	if k.in.RenewBefore != nil {
		renewBefore = k.in.RenewBefore.Duration
	}
	if most := duration - minRenewal; renewBefore < minRenewal || renewBefore > most {
		k.refuse(at.Child("renewBefore"), "is %s: must be from %s to %s with a duration of %s",
			DurationText(renewBefore), DurationText(minRenewal), DurationText(most), DurationText(duration))
	}
	k.out.duration, k.out.renewBefore = duration, renewBefore
}

// usages are restricted: a CA signs certificates that are not CAs. Other certificates are for servers and clients.
func (k *certificateCompiler) usages() {
	t := &k.out.template
	t.BasicConstraintsValid = true
	if k.in.IsCA {
		t.IsCA, t.MaxPathLenZero = true, true
		t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
		return
	}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	if k.in.KeyType == rsaType {
		t.KeyUsage |= x509.KeyUsageKeyEncipherment // for TLS 1.2 without forward secrecy
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
}

// bounded returns a list. It returns nothing if the list is over its limit.
func (k *certificateCompiler) bounded(at *field.Path, list []string) []string {
	if len(list) <= limits.ListItems {
		return list
	}
	k.refuse(at, "has %d items, over the limit of %d: add another certificate for some of them",
		len(list), limits.ListItems)
	return nil
}

// certificateKey returns nil for an unknown type.
func certificateKey(keyType string) keyFunc {
	switch keyType {
	case "", "ecdsa":
		return ecdsaKey(elliptic.P256())
	case rsaType:
		return rsaKey(3072)
	case "ed25519":
		return ed25519Key
	}
	return nil
}

// A keyFunc generates a private key of one type and size. It uses the system's randomness, because Go accepts no other
// source, and in a rehearsal the seeded source. Tests replace the system's with testing/cryptotest.
type keyFunc func(seeded io.Reader) (crypto.Signer, error)

func ed25519Key(seeded io.Reader) (crypto.Signer, error) {
	if seeded != nil {
		return seededEd25519(seeded)
	}
	_, key, err := ed25519.GenerateKey(nil)
	return key, err
}

func ecdsaKey(curve elliptic.Curve) keyFunc {
	return func(seeded io.Reader) (crypto.Signer, error) {
		if seeded != nil {
			return seededECDSA(seeded, curve)
		}
		return ecdsa.GenerateKey(curve, rand.Reader)
	}
}

func rsaKey(bits int) keyFunc {
	return func(seeded io.Reader) (crypto.Signer, error) {
		if seeded != nil {
			return seededRSA(seeded, bits)
		}
		return rsa.GenerateKey(rand.Reader, bits)
	}
}
