package credential

import (
	"crypto"
	"errors"
	"io"
	"testing"
)

// A strangeKey is a key of a type that cannot be encoded.
type strangeKey struct{ crypto.Signer }

// A silentKey cannot sign.
type silentKey struct{ crypto.Signer }

func (silentKey) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("no entropy")
}

// A namelessKey has a public key that cannot be compared.
type namelessKey struct{ crypto.Signer }

func (namelessKey) Public() crypto.PublicKey { return "a key" }

func TestMakesNothingWithoutAKey(t *testing.T) {
	own := newKey(t, ed25519Key)
	const strange = "x509: unknown key type while marshaling PKCS#8: credential.strangeKey"
	makes := map[string]func(newKey keyFunc) Kind{
		"certificate": func(newKey keyFunc) Kind {
			c := certificate(t, `{subject: {commonName: a}}`)
			c.newKey = newKey
			return c
		},
		"openssh": func(newKey keyFunc) Kind { return &SSHKey{newKey: newKey, format: openSSH} },
		"pkcs8":   func(newKey keyFunc) Kind { return &SSHKey{newKey: newKey, format: "PKCS8"} },
	}
	cases := map[string]struct {
		reason string
		key    crypto.Signer
		want   map[string]string // by kind
	}{
		"None": {
			reason: "there is no randomness",
			want: map[string]string{
				"certificate": "cannot generate a key: no entropy",
				"openssh":     "cannot generate a key: no entropy", "pkcs8": "cannot generate a key: no entropy",
			},
		},
		"Strange": {
			reason: "the key cannot be encoded", key: strangeKey{own},
			want: map[string]string{
				"certificate": "cannot encode a private key: " + strange,
				"openssh": "cannot encode a private key: ssh: unsupported key " +
					"type credential.strangeKey",
				"pkcs8": "cannot encode a private key: " + strange,
			},
		},
		"Silent": {
			reason: "the key cannot sign", key: silentKey{own},
			want: map[string]string{"certificate": "cannot create a certificate: no entropy"},
		},
		"Nameless": {
			reason: "the public key cannot be encoded", key: namelessKey{own},
			want: map[string]string{
				"openssh": "cannot encode a public key: ssh: unsupported key type string",
				"pkcs8":   "cannot encode a public key: ssh: unsupported key type string",
			},
		},
	}
	for name, tc := range cases {
		for kind, want := range tc.want {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Log(tc.reason)
				newKey := func(io.Reader) (crypto.Signer, error) { return tc.key, nil }
				if tc.key == nil {
					newKey = func(io.Reader) (crypto.Signer, error) { return nil, errors.New("no entropy") }
				}
				fails(t, makes[kind](newKey), From{Now: noon}, want)
			})
		}
	}
}
