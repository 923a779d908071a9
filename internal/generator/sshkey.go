package generator

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/elliptic"
	"encoding/pem"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// The outputs of an SSHKey.
const (
	privateKey = "privateKey"
	publicKey  = "publicKey"
)

// rsaType is a type of keys of which there are several sizes and formats.
const rsaType = "rsa"

// maxComment is the limit of the input's schema, in characters.
const maxComment = 256

// sshSizes are the sizes in bits of the types that have several.
var sshSizes = map[string]struct {
	keys     map[uint64]keyFunc
	standard uint64
	known    string
}{
	rsaType: {map[uint64]keyFunc{2048: rsaKey(2048), 3072: rsaKey(3072), 4096: rsaKey(4096)}, 3072, "2048, 3072 or 4096"},
	"ecdsa": {
		map[uint64]keyFunc{256: ecdsaKey(elliptic.P256()), 384: ecdsaKey(elliptic.P384()), 521: ecdsaKey(elliptic.P521())},
		256, "256, 384 or 521",
	},
}

// An SSHKey generates key pairs. It is immutable, and safe for concurrent use.
type SSHKey struct {
	newKey  keyFunc
	comment string
	format  string
}

// CompileSSHKey compiles a section of the input at a path, or returns all diagnostics.
func CompileSSHKey(at *field.Path, in *v1beta1.SSHKeyGenerator) (*SSHKey, field.ErrorList) {
	var r refusals
	newKey := r.sshKey(at, in)
	if why := wrongText(in.Comment, maxComment); why != "" {
		r.refuse(at.Child("comment"), "%s", why)
	}
	switch in.Format {
	case "", openSSH, pkcs8Format:
	case pkcs1Format:
		if in.Type != rsaType {
			r.refuse(at.Child("format"), "must not be PKCS1 for this type, because only RSA keys have that format: "+
				"set type to rsa, or format to PKCS8")
		}
	default:
		r.refuse(at.Child("format"), "must be OpenSSH, PKCS1 or PKCS8")
	}
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return &SSHKey{newKey: newKey, comment: in.Comment, format: cmp.Or(in.Format, openSSH)}, nil
}

func (r *refusals) sshKey(at *field.Path, in *v1beta1.SSHKeyGenerator) keyFunc {
	size, ok := sshSizes[in.Type]
	bits := ptr.Deref(in.Bits, size.standard)
	switch newKey := size.keys[bits]; {
	case in.Type != "" && in.Type != "ed25519" && !ok:
		r.refuse(at.Child("type"), "must be ed25519, rsa or ecdsa")
	case !ok && in.Bits != nil:
		r.refuse(at.Child("bits"), "must not be set for type ed25519, which has one size: "+
			"leave it out, or set type to rsa or ecdsa")
	case ok && newKey == nil:
		r.refuse(at.Child("bits"), "is %d: must be %s for type %s", bits, size.known, in.Type)
	case ok:
		return newKey
	}
	return ed25519Key
}

// Keys are the names of the outputs.
func (k *SSHKey) Keys() []string { return []string{privateKey, publicKey} }

// Make generates a key pair. The private key is not encrypted. The public key is a line of an
// authorized_keys file without its newline, because APIs that accept such a key return it without a newline. It
// contains the comment, and in OpenSSH's own format the private key also does.
func (k *SSHKey) Make(from From) (Outputs, error) {
	key, err := k.newKey(from.seeded())
	if err != nil {
		return nil, fmt.Errorf("cannot generate a key: %w", err)
	}
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("cannot encode a public key: %w", err)
	}
	private, err := k.encode(key, from.seeded())
	if err != nil {
		return nil, fmt.Errorf("cannot encode a private key: %w", err)
	}
	line := bytes.TrimSuffix(ssh.MarshalAuthorizedKey(public), []byte("\n"))
	if k.comment != "" {
		line = append(append(line, ' '), k.comment...)
	}
	return Outputs{
		privateKey: private,
		publicKey:  sensitive.New(line),
	}, nil
}

func (k *SSHKey) encode(key crypto.Signer, seeded io.Reader) (sensitive.Bytes, error) {
	if k.format != openSSH {
		return keyInPEM(key, k.format)
	}
	b, err := ssh.MarshalPrivateKey(key, k.comment)
	if err != nil {
		return sensitive.Bytes{}, fmt.Errorf("cannot use the format of OpenSSH: %w", err)
	}
	if seeded != nil {
		if err := seededOpenSSH(seeded, b); err != nil {
			return sensitive.Bytes{}, err
		}
	}
	return sensitive.New(pem.EncodeToMemory(b)), nil
}
