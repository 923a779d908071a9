// Package pem splits and joins PEM texts, and sorts the certificates of a bundle into a chain.
//
// PEM blocks are written again, so that the result does not depend on how the text was written: lines have 64
// characters and end with a newline, and text outside of the blocks is left out. Go's decoder skips a block that it
// cannot read. Here, such a block is an error, because a bundle that silently loses a certificate is broken.
//
// The errors contain no part of a text.
package pem

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
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
	errNoBlock    = errors.New("the text has no PEM block")
	errNoText     = errors.New("the list is empty")
	errBroken     = errors.New("a PEM block is incomplete or invalid")
	errBlocks     = fmt.Errorf("it has more than %d PEM blocks", limits.PEMBlocks)
	errNoKey      = errors.New("the text has no private key")
	errKeys       = errors.New("the text has more than one private key")
	errNotOneText = errors.New("an element of the list has no PEM block")
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
