package generator

import (
	"bytes"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
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
	// A shorter life would be over before all that use the certificate have the next
	// one, a longer one is a mistake.
	minDuration = time.Hour
	maxDuration = 100 * 365 * 24 * time.Hour

	// minRenewal is how much of its life is left at least when it is renewed, since
	// Crossplane does that no sooner than it reconciles, and how much of it is over, or
	// each reconcile would make another one.
	minRenewal = 5 * time.Minute

	// maxName of a subject is what RFC 5280 says of common names and organizations, in
	// characters.
	maxName = 64

	// maxOrganizations is the one of the input's schema.
	maxOrganizations = 16

	// maxDNSName and maxLabel are those of RFC 1035, in bytes.
	maxDNSName = 253
	maxLabel   = 63
)

// A Certificate makes certificates and their keys. It is immutable, and safe for
// concurrent use.
type Certificate struct {
	// template lacks the serial number and the validity.
	template x509.Certificate

	ca                    string
	newKey                keyMaker
	duration, renewBefore time.Duration
}

// CompileCertificate compiles a section of the input, which lies at the path, or
// returns all its faults. Whether there is a generator of the CA's name is not looked
// at: see [Certificate.FaultOf].
func CompileCertificate(at *field.Path, in *v1beta1.CertificateGenerator) (*Certificate, field.ErrorList) {
	k := &certificateCompiler{at: at, out: &Certificate{ca: in.CA, newKey: certificateKeyMaker(in.KeyType)}}
	if in.IsCA && in.CA != "" {
		k.fault(at.Child("ca"), "must not be set for a CA, which signs itself")
	}
	k.subject(at.Child("subject"), in.Subject)
	k.dnsNames(at.Child("dnsNames"), in.DNSNames)
	k.ipAddresses(at.Child("ipAddresses"), in.IPAddresses)
	k.named(in)
	k.times(in)
	if k.out.newKey == nil {
		k.fault(at.Child("keyType"), "must be ecdsa, rsa or ed25519")
	}
	if len(k.faults) > 0 {
		return nil, k.faults
	}
	k.usages(in)
	return k.out, nil
}

// CA is the name of the generator whose certificate signs, or nothing for one that
// signs itself.
func (c *Certificate) CA() string { return c.ca }

// FaultOf is why ca cannot sign this certificate, which lies at the path, or nil.
func (c *Certificate) FaultOf(at *field.Path, ca *Certificate) *field.Error {
	switch {
	case !ca.template.IsCA:
		return fault(at.Child("ca"), "names a certificate that is no CA: set its isCA to true")
	case bytes.Equal(c.template.RawSubject, ca.template.RawSubject):
		return fault(at.Child("subject"), "is the subject of the CA, too, as if it signed itself: give it another commonName")
	}
	return nil
}

// A certificateCompiler fills in a certificate, and collects the faults of its input.
type certificateCompiler struct {
	at     *field.Path
	out    *Certificate
	faults field.ErrorList
}

func (k *certificateCompiler) subject(at *field.Path, in *v1beta1.CertificateSubject) {
	var name pkix.Name
	if in != nil {
		name = pkix.Name{CommonName: in.CommonName, Organization: in.Organizations}
	}
	if in != nil && name.CommonName == "" && len(name.Organization) == 0 {
		k.fault(at, "must have commonName or organizations, or be left out")
	}
	if why := wrongText(name.CommonName, maxName); why != "" {
		k.fault(at.Child("commonName"), "%s", why)
	}
	if n := len(name.Organization); n > maxOrganizations {
		k.fault(at.Child("organizations"), "has %d items, over the limit of %d", n, maxOrganizations)
		return
	}
	for i, o := range name.Organization {
		if why := wrongText(o, maxName); why != "" {
			k.fault(at.Child("organizations").Index(i), "%s", why)
		} else if o == "" {
			k.fault(at.Child("organizations").Index(i), "must not be empty")
		}
	}
	der, err := asn1.Marshal(name.ToRDNSequence())
	if err != nil && len(k.faults) == 0 {
		k.fault(at, "cannot be encoded")
	}
	k.out.template.RawSubject = der
}

func (k *certificateCompiler) dnsNames(at *field.Path, names []string) {
	for i, name := range names[:k.length(at, len(names))] {
		if why := wrongDNSName(name); why != "" {
			k.fault(at.Index(i), "%s", why)
		}
	}
	k.out.template.DNSNames = slices.Clone(names)
}

func wrongDNSName(name string) string {
	if _, err := netip.ParseAddr(name); err == nil {
		return "is an IP address: list it in ipAddresses"
	}
	rest := strings.TrimPrefix(name, "*.")
	if strings.Contains(rest, "*") {
		return "has a '*' that is not all of its first label, followed by another one"
	}
	if n := len(name); n > maxDNSName {
		return fmt.Sprintf("has %d characters, over the limit of %d", n, maxDNSName)
	}
	for label := range strings.SplitSeq(rest, ".") {
		if !isLabel(label) {
			return fmt.Sprintf("is no DNS name: each of its labels must have 1 to %d letters, digits and '-', and not start or end with '-'", maxLabel)
		}
	}
	return ""
}

func isLabel(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return s != "" && len(s) <= maxLabel && s[0] != '-' && s[len(s)-1] != '-' && strings.Trim(s, letters+"-") == ""
}

func (k *certificateCompiler) ipAddresses(at *field.Path, addresses []string) {
	for i, text := range addresses[:k.length(at, len(addresses))] {
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			k.fault(at.Index(i), "is no IP address, as 10.0.0.1 or fd00::1 is")
		case a.Zone() != "":
			k.fault(at.Index(i), "has a zone, which is of one host only: leave out what follows the '%%'")
		default:
			k.out.template.IPAddresses = append(k.out.template.IPAddresses, a.AsSlice())
		}
	}
}

// named is whether the certificate says who it is of, and who signed it.
func (k *certificateCompiler) named(in *v1beta1.CertificateGenerator) {
	switch names := len(in.DNSNames) + len(in.IPAddresses); {
	case in.IsCA && names > 0:
		k.fault(k.at.Child("isCA"), "must not be set with dnsNames or ipAddresses: a CA only signs, so make another certificate with them whose ca it is")
	case in.CA == "" && in.Subject == nil:
		k.fault(k.at.Child("subject"), "must be set for a certificate that signs itself, and so names its issuer: set commonName")
	case in.Subject == nil && names == 0:
		k.fault(k.at, "is of nobody: set subject.commonName, dnsNames or ipAddresses")
	}
}

func (k *certificateCompiler) times(in *v1beta1.CertificateGenerator) {
	c := k.out
	switch {
	case in.Duration != nil:
		c.duration = in.Duration.Duration
	case in.IsCA:
		c.duration = 87600 * time.Hour
	default:
		c.duration = 2160 * time.Hour
	}
	if c.duration < minDuration || c.duration > maxDuration {
		k.fault(k.at.Child("duration"), "is %s: must be from %s to %s, 100 years", DurationText(c.duration), DurationText(minDuration), DurationText(maxDuration))
		return
	}
	c.renewBefore = c.duration / 3
	if in.RenewBefore != nil {
		c.renewBefore = in.RenewBefore.Duration
	}
	if most := c.duration - minRenewal; c.renewBefore < minRenewal || c.renewBefore > most {
		k.fault(k.at.Child("renewBefore"), "is %s: must be from %s to %s with the duration of %s",
			DurationText(c.renewBefore), DurationText(minRenewal), DurationText(most), DurationText(c.duration))
	}
}

// usages are narrow: a CA signs certificates that are no CAs, others serve and call.
func (k *certificateCompiler) usages(in *v1beta1.CertificateGenerator) {
	t := &k.out.template
	t.BasicConstraintsValid = true
	if in.IsCA {
		t.IsCA, t.MaxPathLenZero = true, true
		t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
		return
	}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	if in.KeyType == "rsa" {
		t.KeyUsage |= x509.KeyUsageKeyEncipherment // for TLS 1.2 without forward secrecy
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
}

// length returns how many items to look at: of a list over its limit none.
func (k *certificateCompiler) length(at *field.Path, n int) int {
	if n <= limits.ListItems {
		return n
	}
	k.fault(at, "has %d items, over the limit of %d: make another certificate with some of them", n, limits.ListItems)
	return 0
}

func (k *certificateCompiler) fault(at *field.Path, format string, args ...any) {
	k.faults = append(k.faults, fault(at, format, args...))
}

// certificateKeyMaker returns nil for a type that is unknown.
func certificateKeyMaker(keyType string) keyMaker {
	switch keyType {
	case "", "ecdsa":
		return ecdsaKey(elliptic.P256())
	case "rsa":
		return rsaKey(3072)
	case "ed25519":
		return ed25519Key
	}
	return nil
}
