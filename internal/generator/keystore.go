package generator

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/limits"
	pemtexts "github.com/crossplane-contrib/function-export/internal/pem"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// keystorePassword is the output with the password of a keystore and of its truststore.
const keystorePassword = "password"

// passwordLength is the length of the password of a keystore. 32 letters and digits have 190 bits, because the formats
// hash a password too few times to protect a weak one.
const passwordLength = 32

// The errors of a source contain no part of it.
var (
	errNotOneKey    = errors.New(tlsKey + " must have one private key in PEM: PKCS #8, PKCS #1 or SEC 1")
	errEncryptedKey = errors.New(tlsKey + " is encrypted with a password: use a key that is not encrypted")
	errOtherKey     = errors.New(tlsKey + " is not the key of the first certificate in " + tlsCert +
		": use the key and the certificate of the same generation, and put the certificate of the server first")
	errChain       = errors.New(tlsCert + " has a certificate that did not sign another certificate in it: leave it out")
	errManySigners = errors.New(tlsCert + " has several certificates of one name, or very large keys: leave out what does not belong to " +
		"the chain")
	errNoCA = errors.New("the map of secretExpression has no " + caCert + ", which truststore requires")
)

// An identity is a certificate with its key.
type identity struct {
	key   func() crypto.Signer // a function, because fmt would print a key in a field
	chain []*x509.Certificate  // each one is signed by the next one
}

// A keystoreContent is the content of a keystore and of its truststore.
type keystoreContent struct {
	identity

	cas      []*x509.Certificate // nil without a truststore
	password sensitive.Bytes
}

// keystoreSource returns the keys of a source that a keystore reads.
func keystoreSource(truststore bool) []string {
	if truststore {
		return []string{tlsCert, tlsKey, caCert}
	}
	return []string{tlsCert, tlsKey}
}

// newKeystore reads a source, and generates a password.
func newKeystore(from From, truststore bool) (*keystoreContent, error) {
	id, err := parseIdentity(from.Source.Map)
	if err != nil {
		return nil, err
	}
	out := &keystoreContent{identity: *id}
	if truststore {
		if from.Source.Map[caCert].Len() == 0 {
			return nil, errNoCA
		}
		if out.cas, err = parseCertificates(from.Source.Map, caCert, limits.SourceCertificates); err != nil {
			return nil, err
		}
	}
	d := &dice{random: from.Random}
	out.password = sensitive.FromString(string(d.draw(lowerCase+upperCase+allDigits, passwordLength, true)))
	return out, d.err
}

// parseIdentity reads a certificate, its key, and the certificates of the CAs that signed it. It refuses a key that
// does not belong to the certificate.
func parseIdentity(source map[string]sensitive.Bytes) (*identity, error) {
	certs, err := parseCertificates(source, tlsCert, limits.KeystoreCertificates)
	if err != nil {
		return nil, err
	}
	if pemtexts.Work(string(source[tlsCert].Reveal())) > limits.KeystoreWork {
		return nil, errManySigners
	}
	key, err := parseKey(source)
	if err != nil {
		return nil, err
	}
	if !isKeyOf(key, certs[0].PublicKey) {
		return nil, errOtherKey
	}
	chain, err := sortChain(certs)
	if err != nil {
		return nil, err
	}
	return &identity{key: func() crypto.Signer { return key }, chain: chain}, nil
}

// sortChain returns the first certificate and after it, each time, the one that signed the last one.
func sortChain(certs []*x509.Certificate) ([]*x509.Certificate, error) {
	chain, rest := certs[:1:1], slices.Clone(certs[1:])
	for len(rest) > 0 {
		last := chain[len(chain)-1]
		i := slices.IndexFunc(rest, func(c *x509.Certificate) bool {
			return pemtexts.NamesIssuer(last, c) && last.CheckSignatureFrom(c) == nil
		})
		if i < 0 {
			return nil, errChain
		}
		chain, rest = append(chain, rest[i]), slices.Delete(rest, i, i+1)
	}
	return chain, nil
}

// parseCertificates reads one or more certificates in PEM, without duplicates.
func parseCertificates(source map[string]sensitive.Bytes, name string, most int) ([]*x509.Certificate, error) {
	blocks, err := parsePEM(source, name, limits.SourceBytes, most)
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	for _, b := range blocks {
		cert, err := x509.ParseCertificate(b.Bytes)
		if err != nil || b.Type != certificateBlock { // the error may contain a part of it
			return nil, fmt.Errorf("%s must only have certificates in PEM", name)
		}
		if key, ok := cert.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > limits.RSABits {
			return nil, fmt.Errorf("%s has an RSA key of more than %d bits", name, limits.RSABits)
		}
		if !slices.ContainsFunc(out, cert.Equal) {
			out = append(out, cert)
		}
	}
	return out, nil
}

func parseKey(source map[string]sensitive.Bytes) (crypto.Signer, error) {
	blocks, err := parsePEM(source, tlsKey, limits.KeyBytes, limits.KeystoreCertificates)
	if err != nil {
		return nil, err
	}
	blocks = slices.DeleteFunc(blocks, func(b *pem.Block) bool { return b.Type == curveBlock })
	if len(blocks) != 1 {
		return nil, errNotOneKey
	}
	block := blocks[0]
	if block.Type == encryptedKeyBlock || block.Headers["DEK-Info"] != "" {
		return nil, errEncryptedKey
	}
	key := parseKeyBlock(block)
	if key == nil {
		return nil, errNotOneKey
	}
	return key, nil
}

// parsePEM returns all blocks of a key of the source, at least one. Text between blocks is a comment.
func parsePEM(source map[string]sensitive.Bytes, name string, mostBytes, most int) ([]*pem.Block, error) {
	text := source[name].Reveal()
	switch {
	case len(text) == 0:
		return nil, fmt.Errorf("the map of secretExpression has no %s", name)
	case len(text) > mostBytes:
		return nil, fmt.Errorf("%s has more than %d bytes", name, mostBytes)
	}
	var blocks []*pem.Block
	for b, rest := pem.Decode(text); b != nil; b, rest = pem.Decode(rest) {
		blocks = append(blocks, b)
	}
	switch begun := bytes.Count(text, []byte("-----BEGIN ")); { // pem.Decode skips invalid blocks
	case len(blocks) == 0 || begun != len(blocks):
		return nil, fmt.Errorf("%s is not PEM, or a part of it is not: compare it with its origin", name)
	case len(blocks) > most:
		return nil, fmt.Errorf("%s has more than %d blocks of PEM", name, most)
	}
	return blocks, nil
}

// caAlias returns the name of the i-th certificate of a truststore. Two generations of a CA have the same subject, so
// that a subject is not a name.
func caAlias(i int) string { return fmt.Sprintf("ca-%d", i+1) }

// fullReader fills the buffer in each read, because the libraries of keystores do not check how much was read.
type fullReader struct{ io.Reader }

// Read fails if it cannot fill b.
func (r fullReader) Read(b []byte) (int, error) {
	if _, err := io.ReadFull(r.Reader, b); err != nil {
		return 0, fmt.Errorf("cannot read randomness: %w", err)
	}
	return len(b), nil
}
