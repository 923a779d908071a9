package credential

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// The types of keys in the input.
const (
	ed25519Type = "ed25519"
	ecdsaType   = "ecdsa"
	rsaType     = "rsa"
)

// The formats of private keys.
const (
	openSSH     = "OpenSSH"
	pkcs1Format = "PKCS1" // only of RSA keys
)

// A keyFunc generates a private key from the system's randomness, or in a rehearsal from its source.
type keyFunc func(seeded io.Reader) (crypto.Signer, error)

func ed25519Key(seeded io.Reader) (crypto.Signer, error) {
	_, key, err := ed25519.GenerateKey(seeded) // nil is the system's randomness
	if err != nil {
		return nil, fmt.Errorf("cannot read randomness: %w", err)
	}
	return key, nil
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

// keyInPEM encodes a private key. An RSA key can have the format PKCS1. All keys can have the format PKCS8.
func keyInPEM(key crypto.Signer, format string) (sensitive.Bytes, error) {
	if key, ok := key.(*rsa.PrivateKey); ok && format == pkcs1Format {
		return block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), nil
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return sensitive.Bytes{}, fmt.Errorf("cannot encode a private key: %w", err)
	}
	return block("PRIVATE KEY", der), nil
}

func block(kind string, der []byte) sensitive.Bytes {
	return sensitive.New(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
