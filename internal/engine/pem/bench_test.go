package pem_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/pem"
)

// The result of Work is about the time of one call here on a busy machine, in microseconds. A call checks one signature.
func BenchmarkChain(b *testing.B) {
	for name, generate := range map[string]func() (crypto.Signer, error){
		"Ed25519": func() (crypto.Signer, error) { _, k, err := ed25519.GenerateKey(rand.Reader); return k, err },
		"P-256":   func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) },
		"P-384":   func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P384(), rand.Reader) },
		"P-521":   func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P521(), rand.Reader) },
		"P-224":   func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P224(), rand.Reader) },
		"RSA2048": func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 2048) },
		"RSA4096": func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 4096) },
	} {
		b.Run(name, func(b *testing.B) {
			key, err := generate()
			if err != nil {
				b.Fatal(err)
			}
			root := issueWith(b, key, "root", nil)
			text := issueWith(b, key, "leaf", root, server).text + root.text
			for b.Loop() {
				if _, err := pem.Chain(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
