package generator

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
)

// A keyMaker makes a private key of one type and size, from the system's randomness:
// since Go 1.26 no other can be given to it. Tests put their own in its place with
// testing/cryptotest.
type keyMaker func() (crypto.Signer, error)

func ed25519Key() (crypto.Signer, error) {
	_, key, err := ed25519.GenerateKey(nil)
	return key, err
}

func ecdsaKey(curve elliptic.Curve) keyMaker {
	return func() (crypto.Signer, error) { return ecdsa.GenerateKey(curve, rand.Reader) }
}

func rsaKey(bits int) keyMaker {
	return func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, bits) }
}
