package credential

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// The outputs of a Certificate.
const (
	tlsCert = "tls.crt"
	tlsKey  = "tls.key"
	caCert  = "ca.crt"
)

const (
	standardDuration   = 2160 * time.Hour
	standardCADuration = 87600 * time.Hour

	// skew is the time by which a certificate is valid before it is created, because some clocks are late.
	skew = 5 * time.Minute

	// minRenewal is the minimum time between the creation of a certificate and its renewal. Otherwise, each reconcile
	// would generate another certificate.
	minRenewal = 5 * time.Minute

	// serialBytes of a serial number: 128 bits of randomness, which no two certificates of a CA share. RFC 5280 allows
	// 20 bytes.
	serialBytes = 16
)

// dnsName also matches a wildcard, which is the first label and all of it (RFC 6125).
var dnsName = func() *regexp.Regexp {
	const label = `[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?`
	return regexp.MustCompile(`^(\*\.)?` + label + `(\.` + label + `)*$`)
}()

const oneLine = "has a line break or a control character: leave it out"

// The errors of an issuer.
var (
	errNoIssuer    = errors.New("cannot sign without a CA")
	errSameSubject = errors.New("cannot sign with a CA that has the same subject, because the certificate would seem " +
		"to sign itself: set another commonName")
	errNotPair = errors.New(tlsCert + " and " + tlsKey + " are not a certificate and its key in PEM")
	errNotCA   = errors.New(tlsCert + " is not the certificate of a CA")
)

// A Certificate generates certificates and their keys. It is immutable, and safe for concurrent use.
type Certificate struct {
	Kind

	// template has no serial number and no validity.
	template x509.Certificate

	ca                    string
	newKey                keyFunc
	keyFormat             string
	duration, renewBefore time.Duration
}

// CompileCertificate compiles a section of the input at a path, or returns its diagnostics. It does not check the
// generator of the CA: see [Certificate.CheckCA].
func CompileCertificate(at *field.Path, in *v1beta1.CertificateGenerator) (*Certificate, field.ErrorList) {
	c := &Certificate{
		template: x509.Certificate{BasicConstraintsValid: true, DNSNames: slices.Clone(in.DNSNames),
			EmailAddresses: slices.Clone(in.EmailAddresses)},
		ca: in.CA, newKey: keySizes[cmp.Or(in.KeyType, ecdsaType)][0], keyFormat: in.KeyFormat,
	}
	c.Kind = Kind{Keys: []string{tlsCert, tlsKey, caCert}, Make: c.make}
	c.usages(in)
	if errs := slices.Concat(c.subject(at.Child("subject"), in.Subject), c.names(at, in),
		c.times(at, in)); len(errs) > 0 {
		return nil, errs
	}
	return c, nil
}

// usages are restricted: a CA signs certificates that are not CAs. Other certificates are for servers and clients.
func (c *Certificate) usages(in *v1beta1.CertificateGenerator) {
	t := &c.template
	if in.IsCA {
		t.IsCA, t.MaxPathLenZero = true, true
		t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
		return
	}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	if in.KeyType == rsaType {
		t.KeyUsage |= x509.KeyUsageKeyEncipherment // for TLS 1.2 without forward secrecy
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
}

// subject sets the subject.
func (c *Certificate) subject(at *field.Path, in *v1beta1.CertificateSubject) (errs field.ErrorList) {
	if in == nil {
		return nil
	}
	if !isLine(in.CommonName) {
		errs = append(errs, invalid(at.Child("commonName"), oneLine))
	}
	name := pkix.Name{CommonName: in.CommonName, Organization: in.Organizations}
	c.template.RawSubject, _ = asn1.Marshal(name.ToRDNSequence()) // it never fails for a text in UTF-8
	return append(errs, checkAll(at.Child("organizations"), in.Organizations, func(text string) string {
		if !isLine(text) {
			return oneLine
		}
		return ""
	})...)
}

// checkAll returns a diagnostic for each text that is wrong, with the reason.
func checkAll(at *field.Path, texts []string, wrong func(text string) string) (errs field.ErrorList) {
	for i, text := range texts {
		if why := wrong(text); why != "" {
			errs = append(errs, invalid(at.Index(i), "%s", why))
		}
	}
	return errs
}

// names sets the alternative names.
func (c *Certificate) names(at *field.Path, in *v1beta1.CertificateGenerator) field.ErrorList {
	return slices.Concat(checkAll(at.Child("dnsNames"), in.DNSNames, func(text string) string {
		switch _, err := netip.ParseAddr(text); {
		case err == nil:
			return "is an IP address: list it in ipAddresses"
		case !dnsName.MatchString(text):
			return "is not a DNS name: each of its labels must have 1 to 63 letters, digits and '-', and not start or " +
				"end with '-', and only the first one may be '*'"
		}
		return ""
	}), checkAll(at.Child("ipAddresses"), in.IPAddresses, func(text string) string {
		a, err := netip.ParseAddr(text)
		if c.template.IPAddresses = append(c.template.IPAddresses, a.AsSlice()); err != nil || a.Zone() != "" {
			return "is not an IP address: write for example 10.0.0.1 or fd00::1"
		}
		return ""
	}), checkAll(at.Child("uris"), in.URIs, func(text string) string {
		u, err := url.Parse(text)
		if c.template.URIs = append(c.template.URIs, u); err != nil || !u.IsAbs() || !isASCII(text) {
			return "is not a URI: write for example spiffe://example.org/db"
		}
		return ""
	}), checkAll(at.Child("emailAddresses"), in.EmailAddresses, func(text string) string {
		if a, err := mail.ParseAddress(text); err != nil || a.Address != text || !isASCII(text) {
			return "is not an email address: write for example db@example.org"
		}
		return ""
	}))
}

// isASCII reports whether a text can be in an alternative name of a certificate (RFC 5280, section 4.2.1.6).
func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

func (c *Certificate) times(at *field.Path, in *v1beta1.CertificateGenerator) field.ErrorList {
	c.duration = standardDuration
	switch {
	case in.Duration != nil:
		c.duration = in.Duration.Duration
	case in.IsCA:
		c.duration = standardCADuration
	}
	c.renewBefore = c.duration / 3
	if in.RenewBefore == nil {
		return nil
	}
	c.renewBefore = in.RenewBefore.Duration
	if most := c.duration - minRenewal; c.renewBefore > most {
		return field.ErrorList{invalid(at.Child("renewBefore"), "is %s: must be from %s to %s with a duration of %s",
			DurationText(c.renewBefore), DurationText(minRenewal), DurationText(most), DurationText(c.duration))}
	}
	return nil
}

// IsCA reports whether it can sign the certificates of other generators.
func (c *Certificate) IsCA() bool { return c.template.IsCA }

// CheckCA returns the reason why ca cannot sign this certificate at the path, or nil.
func (c *Certificate) CheckCA(at *field.Path, ca *Certificate) *field.Error {
	switch {
	case !ca.template.IsCA:
		return invalid(at.Child("ca"), "names a certificate that is not a CA: set its isCA to true")
	case ca.template.RawSubject != nil && bytes.Equal(c.template.RawSubject, ca.template.RawSubject):
		return invalid(at.Child("subject"), "is also the subject of the CA, so that the certificate would seem to "+
			"sign "+
			"itself: set another commonName")
	}
	return nil
}

// make generates a certificate and its key. A self-signed certificate is its own ca.crt.
//
// It is valid from five minutes before now, and for the duration after, but not outside of the validity of the issuer.
// An issuer that has expired is an error.
func (c *Certificate) make(from From) (Outputs, error) {
	t, err := c.limited(from)
	if err != nil {
		return nil, err
	}
	random, signing := rand.Reader, rand.Reader
	if seeded := from.seeded(); seeded != nil {
		random, signing = seeded, nil // signatures without a source are deterministic
	}
	serial := make([]byte, serialBytes)
	_, _ = io.ReadFull(random, serial) // neither source fails
	t.SerialNumber = new(big.Int).SetBytes(serial)
	key, err := c.newKey(from.seeded())
	if err != nil {
		return nil, fmt.Errorf("cannot generate a key: %w", err)
	}
	parent, signer := t, key
	if from.Issuer != nil {
		parent, signer = from.Issuer.cert, from.Issuer.key()
	}
	der, err := x509.CreateCertificate(signing, t, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("cannot create a certificate: %w", err)
	}
	private, err := keyInPEM(key, c.keyFormat)
	if err != nil {
		return nil, fmt.Errorf("cannot encode a private key: %w", err)
	}
	cert := block(certificateBlock, der)
	out := Outputs{tlsCert: cert, tlsKey: private, caCert: cert}
	if from.Issuer != nil {
		out[caCert] = block(certificateBlock, from.Issuer.cert.Raw)
	}
	return out, nil
}

// limited returns the template with its validity, which is limited to the validity of the issuer.
func (c *Certificate) limited(from From) (*x509.Certificate, error) {
	t := c.template
	t.NotBefore, t.NotAfter = from.Now.Add(-skew), from.Now.Add(c.duration)
	if c.ca == "" {
		return &t, nil
	}
	if from.Issuer == nil {
		return nil, errNoIssuer
	}
	ca := from.Issuer.cert
	if t.RawSubject != nil && bytes.Equal(t.RawSubject, ca.RawSubject) {
		return nil, errSameSubject
	}
	if !from.Now.Before(ca.NotAfter) {
		return nil, fmt.Errorf("cannot sign with a CA that was valid until %s: rotate the CA",
			ca.NotAfter.Format(time.RFC3339))
	}
	t.NotBefore = slices.MaxFunc([]time.Time{t.NotBefore, ca.NotBefore}, time.Time.Compare)
	t.NotAfter = slices.MinFunc([]time.Time{t.NotAfter, ca.NotAfter}, time.Time.Compare)
	return &t, nil
}

// RenewAt returns the time when another generation must follow the one with these outputs: renewBefore the end of its
// validity, which it also returns. Both are zero if the outputs are not a certificate and its CA. A certificate that
// ends together with its CA is only followed at its end, because until there is another CA the next certificate would
// end at the same time.
func (c *Certificate) RenewAt(o Outputs) (renew, end time.Time) {
	cert, ca := parseCertificate(o, tlsCert), parseCertificate(o, caCert)
	switch {
	case cert == nil || ca == nil:
		return renew, end
	case c.ca != "" && !cert.NotAfter.Before(ca.NotAfter):
		return cert.NotAfter, cert.NotAfter
	}
	return cert.NotAfter.Add(-c.renewBefore), cert.NotAfter
}

// certificateBlock is the type of a PEM block.
const certificateBlock = "CERTIFICATE"

// An Issuer is a CA's certificate and key. It is immutable, and safe for concurrent use.
type Issuer struct {
	cert *x509.Certificate
	key  func() crypto.Signer // a function, because fmt would print a key in a field
}

// ParseIssuer reads a CA from the outputs of one of its generations, which may have been changed. It does not check the
// validity. Errors contain no part of the outputs.
func ParseIssuer(o Outputs) (*Issuer, error) {
	pair, err := tls.X509KeyPair(o[tlsCert].Reveal(), o[tlsKey].Reveal()) // its error may contain a part of them
	key, ok := pair.PrivateKey.(crypto.Signer)
	switch {
	case err != nil || !ok:
		return nil, errNotPair
	case !pair.Leaf.IsCA || pair.Leaf.KeyUsage&x509.KeyUsageCertSign == 0:
		return nil, errNotCA
	}
	return &Issuer{cert: pair.Leaf, key: func() crypto.Signer { return key }}, nil
}

// IssuedBy reports whether the issuer signed the certificate in o. It returns false if the CA has another generation or
// the outputs have no certificate.
func (c *Certificate) IssuedBy(o Outputs, issuer *Issuer) bool {
	cert := parseCertificate(o, tlsCert)
	return cert != nil && bytes.Equal(cert.RawIssuer, issuer.cert.RawSubject) &&
		cert.CheckSignatureFrom(issuer.cert) == nil
}

// parseCertificate returns the certificate in an output, or nil.
func parseCertificate(o Outputs, key string) *x509.Certificate {
	b, _ := pem.Decode(o[key].Reveal())
	if b == nil || b.Type != certificateBlock {
		return nil
	}
	cert, _ := x509.ParseCertificate(b.Bytes) // the error may contain a part of it
	return cert
}
