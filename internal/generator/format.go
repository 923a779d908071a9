package generator

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// The types of PEM blocks.
const (
	certificateBlock  = "CERTIFICATE"
	publicKeyBlock    = "PUBLIC KEY"
	privateKeyBlock   = "PRIVATE KEY"     // PKCS #8
	rsaKeyBlock       = "RSA PRIVATE KEY" // PKCS #1
	ecKeyBlock        = "EC PRIVATE KEY"  // SEC 1
	encryptedKeyBlock = "ENCRYPTED PRIVATE KEY"
	curveBlock        = "EC PARAMETERS" // OpenSSL writes it before the key
)

// The formats of private keys.
const (
	openSSH     = "OpenSSH"
	pkcs1Format = "PKCS1" // only of RSA keys
	pkcs8Format = "PKCS8"
)

var errFormat = errors.New("only RSA keys have the format PKCS1")

// keyInPEM encodes a private key in PKCS1 or PKCS8.
func keyInPEM(key crypto.Signer, format string) (sensitive.Bytes, error) {
	if format == pkcs1Format {
		key, ok := key.(*rsa.PrivateKey)
		if !ok {
			return sensitive.Bytes{}, errFormat
		}
		return block(rsaKeyBlock, x509.MarshalPKCS1PrivateKey(key)), nil
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return sensitive.Bytes{}, fmt.Errorf("cannot use PKCS #8: %w", err)
	}
	return block(privateKeyBlock, der), nil
}

// parseKeyBlock returns a private key, or nil. Errors of the standard library may contain a part of the key.
func parseKeyBlock(b *pem.Block) crypto.Signer {
	var key any
	var err error
	switch b.Type {
	case privateKeyBlock:
		key, err = x509.ParsePKCS8PrivateKey(b.Bytes)
	case rsaKeyBlock:
		key, err = x509.ParsePKCS1PrivateKey(b.Bytes)
	case ecKeyBlock:
		key, err = x509.ParseECPrivateKey(b.Bytes)
	}
	if err != nil {
		return nil
	}
	signer, _ := key.(crypto.Signer) // nil if the key cannot sign
	return signer
}

// isKeyOf reports whether a private key belongs to a public key.
func isKeyOf(key crypto.Signer, public crypto.PublicKey) bool {
	own, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && own.Equal(public)
}

func block(kind string, der []byte) sensitive.Bytes {
	return sensitive.New(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
