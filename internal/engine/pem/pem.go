// Package pem splits and joins PEM texts, and sorts the certificates of a bundle into a chain.
//
// PEM blocks are written again, so that the result does not depend on how the text was written: lines have 64
// characters and end with a newline, and text outside of the blocks is left out. Go's decoder skips a block that it
// cannot read. Here, such a block is an error, because a bundle that silently loses a certificate is broken.
//
// The errors contain no part of a text.
package pem

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

const (
	begin = "-----BEGIN "
	end   = "-----END "

	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY" // the end of the type of each kind of private key
)

var (
	errNoBlock       = errors.New("the text has no PEM block")
	errNoText        = errors.New("the list is empty")
	errBroken        = errors.New("a PEM block is incomplete or invalid")
	errBlocks        = fmt.Errorf("it has more than %d PEM blocks", limits.PEMBlocks)
	errNoKey         = errors.New("the text has no private key")
	errKeys          = errors.New("the text has more than one private key")
	errNotOneText    = errors.New("an element of the list has no PEM block")
	errNoCertificate = errors.New("the text has no certificate")
	errCertificate   = errors.New("a certificate cannot be parsed")
	errCertificates  = fmt.Errorf("the text has more than %d different certificates", limits.ChainCertificates)
	errNoCA          = errors.New("the text has no certificate of a CA")
	errIssuers       = notOneChain("the issuer of one may be any of several others")
	errLeaves        = notOneChain("several sign no other one, or some sign each other")
)

// Split returns each block of a text as its own PEM text.
func Split(text string) ([]string, error) {
	blocks, err := decode(text)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(blocks))
	for i, b := range blocks {
		out[i] = encode(b)
	}
	return out, nil
}

// Join returns the blocks of all texts as one PEM text. Each text must have at least one block.
func Join(texts []string) (string, error) {
	if len(texts) == 0 {
		return "", errNoText
	}
	var all []*pem.Block
	for _, text := range texts {
		blocks, err := decode(text)
		if errors.Is(err, errNoBlock) {
			return "", errNotOneText
		}
		if err != nil {
			return "", err
		}
		if all = append(all, blocks...); len(all) > limits.PEMBlocks {
			return "", errBlocks
		}
	}
	return encode(all...), nil
}

// Certificates returns the certificates of a text in their order.
func Certificates(text string) (string, error) {
	blocks, err := certificateBlocks(text)
	return encode(blocks...), err
}

// Parsed returns the certificates of a text in their order.
func Parsed(text string) ([]*x509.Certificate, error) {
	blocks, err := certificateBlocks(text)
	if err != nil {
		return nil, err
	}
	return parse(blocks)
}

// PrivateKey returns the only private key of a text.
func PrivateKey(text string) (string, error) {
	keys, err := blocksOf(text, func(kind string) bool {
		return kind == keyBlock || strings.HasSuffix(kind, " "+keyBlock)
	})
	switch {
	case err != nil:
		return "", err
	case len(keys) == 0:
		return "", errNoKey
	case len(keys) > 1:
		return "", errKeys
	}
	return encode(keys...), nil
}

func certificateBlocks(text string) ([]*pem.Block, error) {
	blocks, err := blocksOf(text, func(kind string) bool { return kind == certificateBlock })
	if err == nil && len(blocks) == 0 {
		return nil, errNoCertificate
	}
	return blocks, err
}

// blocksOf returns the blocks whose type is wanted.
func blocksOf(text string, wanted func(kind string) bool) (out []*pem.Block, err error) {
	blocks, err := decode(text)
	for _, b := range blocks {
		if wanted(b.Type) {
			out = append(out, b)
		}
	}
	return out, err
}

// decode returns the blocks of a text. A line that looks like the start or the end of a block must belong to a block.
func decode(text string) ([]*pem.Block, error) {
	n := strings.Count(text, begin)
	switch {
	case n > limits.PEMBlocks:
		return nil, errBlocks
	case n != strings.Count(text, end):
		return nil, errBroken
	case n == 0:
		return nil, errNoBlock
	}
	blocks := make([]*pem.Block, 0, n)
	for rest := []byte(text); ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil || strings.Contains(b.Type, ":") { // which looks like a header
			break
		}
		blocks = append(blocks, b)
	}
	if len(blocks) != n {
		return nil, errBroken
	}
	return blocks, nil
}

// encode writes blocks that were decoded. Therefore, it always can: no key of a header has a colon.
func encode(blocks ...*pem.Block) string {
	var out strings.Builder
	for _, b := range blocks {
		out.Write(pem.EncodeToMemory(b))
	}
	return out.String()
}

func notOneChain(reason string) error {
	return errors.New("the certificates are not one chain: " + reason + ": remove what does not belong to it")
}

// Chain returns the certificates of a text as a chain: the leaf, its issuer, the issuer of the issuer, up to the root
// if the text has it. Other blocks and repeated certificates are left out. All certificates must belong to the chain,
// so that the chains of two generations are never mixed.
//
// A certificate is the issuer of another one if the names match, the key identifiers match where both have one, and its
// key verifies the signature. The validity of the certificates is not checked, nor the signature of a root. At most one
// signature of each certificate is checked.
func Chain(text string) (string, error) {
	chain, err := chainOf(text)
	return encodeAll(chain), err
}

// Leaf returns the first certificate of the chain. It signs no other one.
func Leaf(text string) (string, error) {
	chain, err := chainOf(text)
	return encodeAll(chain[:min(1, len(chain))]), err
}

// CA returns the certificates of CAs in the order of the chain: all except the leaf. If the leaf is also the
// certificate of a CA, such as a self-signed one, it is included.
func CA(text string) (string, error) {
	chain, err := chainOf(text)
	if err != nil {
		return "", err
	}
	if leaf := chain[0]; !leaf.BasicConstraintsValid || !leaf.IsCA {
		chain = chain[1:]
	}
	if len(chain) == 0 {
		return "", errNoCA
	}
	return encodeAll(chain), nil
}

func encodeAll(chain []*x509.Certificate) string {
	blocks := make([]*pem.Block, len(chain))
	for i, c := range chain {
		blocks[i] = &pem.Block{Type: certificateBlock, Bytes: c.Raw}
	}
	return encode(blocks...)
}

func chainOf(text string) ([]*x509.Certificate, error) {
	all, err := distinct(text)
	if err != nil {
		return nil, err
	}
	issuers := make([]int, len(all))
	for i := range all {
		if issuers[i], err = issuerOf(all, i); err != nil {
			return nil, err
		}
	}
	return walk(all, issuers)
}

// distinct returns the different certificates of a text in an order that does not depend on the text.
func distinct(text string) ([]*x509.Certificate, error) {
	blocks, err := certificateBlocks(text)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(blocks, func(a, b *pem.Block) int { return bytes.Compare(a.Bytes, b.Bytes) })
	blocks = slices.CompactFunc(blocks, func(a, b *pem.Block) bool { return bytes.Equal(a.Bytes, b.Bytes) })
	if len(blocks) > limits.ChainCertificates {
		return nil, errCertificates
	}
	return parse(blocks)
}

func parse(blocks []*pem.Block) ([]*x509.Certificate, error) {
	out := make([]*x509.Certificate, len(blocks))
	for i, b := range blocks {
		var err error
		if out[i], err = x509.ParseCertificate(b.Bytes); err != nil {
			return nil, errCertificate
		}
	}
	return out, nil
}

// issuerOf returns the index of the issuer of a certificate, or -1 if it is not among them. A root has none.
func issuerOf(all []*x509.Certificate, i int) (int, error) {
	issuer := -1
	for j, other := range all {
		switch {
		case i == j || bytes.Equal(all[i].RawIssuer, all[i].RawSubject) || !namesIssuer(all[i], other):
		case issuer >= 0:
			return 0, errIssuers
		default:
			issuer = j
		}
	}
	if issuer >= 0 && !signs(all[issuer], all[i]) {
		return -1, nil
	}
	return issuer, nil
}

// namesIssuer reports whether a certificate says that another one is its issuer: by its name and, where both have one,
// by its key identifier.
func namesIssuer(c, issuer *x509.Certificate) bool {
	return bytes.Equal(c.RawIssuer, issuer.RawSubject) && (len(c.AuthorityKeyId) == 0 ||
		len(issuer.SubjectKeyId) == 0 || bytes.Equal(c.AuthorityKeyId, issuer.SubjectKeyId))
}

// signs reports whether a certificate verifies the signature of another one. The time that a check takes grows with the
// size of the key.
func signs(issuer, c *x509.Certificate) bool {
	if key, ok := issuer.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > limits.RSABits {
		return false
	}
	return c.CheckSignatureFrom(issuer) == nil
}

// walk returns the certificates from the only one that is not an issuer to the only one without an issuer.
func walk(all []*x509.Certificate, issuers []int) ([]*x509.Certificate, error) {
	i := -1
	for j := range all {
		if !slices.Contains(issuers, j) {
			i = j
		}
	}
	chain := make([]*x509.Certificate, 0, len(all))
	for ; i >= 0 && len(chain) < len(all); i = issuers[i] {
		chain = append(chain, all[i])
	}
	if i >= 0 || len(chain) < len(all) {
		return nil, errLeaves
	}
	return chain, nil
}
