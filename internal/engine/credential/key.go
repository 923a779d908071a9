package credential

import (
	"bytes"
	"cmp"
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

	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
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
	return block("PRIVATE KEY", der), err
}

func block(kind string, der []byte) sensitive.Bytes {
	return sensitive.New(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// The outputs of an SSH key.
const (
	privateKey = "privateKey"
	publicKey  = "publicKey"
)

// keySizes are the sizes of keys in bits, by their type. Size 0 is that of keys whose size is not set.
var keySizes = map[string]map[uint64]keyFunc{
	ed25519Type: {0: ed25519Key},
	rsaType:     {0: rsaKey(3072), 2048: rsaKey(2048), 3072: rsaKey(3072), 4096: rsaKey(4096)},
	ecdsaType: {
		0: ecdsaKey(elliptic.P256()), 256: ecdsaKey(elliptic.P256()), 384: ecdsaKey(elliptic.P384()),
		521: ecdsaKey(elliptic.P521()),
	},
}

// CompileSSHKey compiles a section of the input at a path, or returns its diagnostics.
func CompileSSHKey(at *field.Path, in *v1beta1.SSHKeyGenerator) (Kind, field.ErrorList) {
	var errs field.ErrorList
	bits := ptr.Deref(in.Bits, 0)
	newKey, ok := keySizes[cmp.Or(in.Type, ed25519Type)][bits]
	if in.Bits != nil && (!ok || bits == 0) {
		errs = append(errs, invalid(at.Child("bits"), "is %d: must be 2048, 3072 or 4096 for type rsa, "+
			"and 256, 384 or 521 for type ecdsa", bits))
	}
	if !isLine(in.Comment) { // another line of authorized_keys would be another key
		errs = append(errs, invalid(at.Child("comment"),
			"has a line break or another invisible character: write one line of text"))
	}
	if len(errs) > 0 {
		return Kind{}, errs
	}
	return Kind{Keys: []string{privateKey, publicKey}, Make: func(from From) (Outputs, error) {
		return makeSSHKey(from.seeded(), newKey, in.Comment, cmp.Or(in.Format, openSSH))
	}}, nil
}

// makeSSHKey generates a key pair. The private key is not encrypted. The public key is a line of an authorized_keys
// file without its newline, because APIs that accept such a key return it without a newline. It contains the comment,
// and in OpenSSH's own format the private key also does.
func makeSSHKey(seeded io.Reader, newKey keyFunc, comment, format string) (Outputs, error) {
	key, err := newKey(seeded)
	if err != nil {
		return nil, fmt.Errorf("cannot generate a key: %w", err)
	}
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("cannot encode a public key: %w", err)
	}
	line := bytes.TrimSuffix(ssh.MarshalAuthorizedKey(public), []byte("\n"))
	if comment != "" {
		line = append(append(line, ' '), comment...)
	}
	private, err := keyInPEM(key, format)
	if format == openSSH {
		private, err = keyInOpenSSH(key, comment, seeded)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot encode a private key: %w", err)
	}
	return Outputs{privateKey: private, publicKey: sensitive.New(line)}, nil
}

func keyInOpenSSH(key crypto.Signer, comment string, seeded io.Reader) (sensitive.Bytes, error) {
	b, err := ssh.MarshalPrivateKey(key, comment)
	if err == nil && seeded != nil {
		err = seededOpenSSH(seeded, b)
	}
	if err != nil {
		return sensitive.Bytes{}, err
	}
	return sensitive.New(pem.EncodeToMemory(b)), nil
}
