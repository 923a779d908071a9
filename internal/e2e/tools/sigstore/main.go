// Command sigstore is a private Sigstore in a folder, for the live tests: a certificate authority, a log of
// certificates, a log of signatures, and the TUF repository that says which of them to trust. It signs packages as
// cosign does with --new-bundle-format=false, without the network.
//
//	sigstore init DIR                                     makes all keys, and a TUF cache in DIR/root
//	sigstore sign DIR PACKAGE -identity URL -issuer URL   signs with a new key, which a certificate names
//	sigstore sign DIR PACKAGE -key NAME                   signs with the key NAME, and writes DIR/NAME.pub
//	sigstore change PACKAGE TAG                           pushes the package with a new label, and so with other bytes
//
// With -unlogged, sign does not record the signature in the log of signatures.
package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"time"

	ct "github.com/google/certificate-transparency-go"
	"github.com/google/certificate-transparency-go/tls"
	"github.com/google/certificate-transparency-go/x509util"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/cosign/v3/pkg/cosign/bundle"
	"github.com/sigstore/cosign/v3/pkg/oci/empty"
	ocimutate "github.com/sigstore/cosign/v3/pkg/oci/mutate"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"
	"github.com/sigstore/cosign/v3/pkg/oci/static"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature/payload"
	sigstoretuf "github.com/sigstore/sigstore/pkg/tuf"
	"github.com/theupdateframework/go-tuf"
)

// validity is how long all certificates are valid.
const validity = time.Hour

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "init":
		return initialize(args[1])
	case len(args) > 2 && args[0] == "sign":
		return signCommand(args[1], args[2], args[3:])
	case len(args) == 3 && args[0] == "change":
		return change(args[1], args[2])
	default:
		return errors.New("want init, sign, or change")
	}
}

// initialize makes the keys and the certificate of the authorities, and does what "cosign initialize" does for a
// private Sigstore: it fills a TUF cache with what the TUF repository says.
func initialize(dir string) error {
	staged := filepath.Join(dir, "tuf", "staged", "targets")
	if err := os.MkdirAll(staged, 0o750); err != nil {
		return err
	}

	if err := makeFulcio(dir); err != nil {
		return err
	}

	for _, log := range []string{"ctfe", "rekor"} {
		if _, err := keyOf(dir, log); err != nil {
			return err
		}
	}

	targets := map[string]string{"fulcio.crt": "Fulcio", "ctfe.pub": "CTFE", "rekor.pub": "Rekor"}
	for target := range targets {
		if err := os.Link(filepath.Join(dir, target), filepath.Join(staged, target)); err != nil {
			return err
		}
	}

	root, err := makeRepository(filepath.Join(dir, "tuf"), targets)
	if err != nil {
		return err
	}

	mirror := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(dir, "tuf", "repository"))))
	defer mirror.Close()

	if err := os.Setenv("TUF_ROOT", filepath.Join(dir, "root")); err != nil {
		return err
	}

	return sigstoretuf.Initialize(context.Background(), mirror.URL, root)
}

// makeRepository makes a TUF repository of targets with their usages, and returns its root.
func makeRepository(dir string, usages map[string]string) (root []byte, err error) {
	repository, err := tuf.NewRepo(tuf.FileSystemStore(dir, nil))
	if err != nil {
		return nil, err
	}

	if err := repository.Init(false); err != nil {
		return nil, err
	}

	for _, role := range []string{"root", "targets", "snapshot", "timestamp"} {
		if _, err := repository.GenKey(role); err != nil {
			return nil, err
		}
	}

	for target, usage := range usages {
		custom := fmt.Sprintf(`{"sigstore": {"usage": %q, "status": "Active"}}`, usage)
		if err := repository.AddTarget(target, json.RawMessage(custom)); err != nil {
			return nil, err
		}
	}

	for _, publish := range []func() error{repository.Snapshot, repository.Timestamp, repository.Commit} {
		if err := publish(); err != nil {
			return nil, err
		}
	}

	return os.ReadFile(filepath.Join(dir, "repository", "root.json"))
}

// makeFulcio makes the authority that certifies keys for signatures.
func makeFulcio(dir string) error {
	key, err := keyOf(dir, "fulcio")
	if err != nil {
		return err
	}

	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "live"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(validity),
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}

	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}

	return os.WriteFile(filepath.Join(dir, "fulcio.crt"), cryptoutils.PEMEncode(cryptoutils.CertificatePEMType, der),
		0o600)
}

// keyOf reads a private key, or makes it. It writes the public key beside it.
func keyOf(dir, owner string) (*ecdsa.PrivateKey, error) {
	path := filepath.Join(dir, owner+".key")

	if b, err := os.ReadFile(path); err == nil {
		return x509.ParseECPrivateKey(b)
	}

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}

	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}

	public, err := cryptoutils.MarshalPublicKeyToPEM(key.Public())
	if err != nil {
		return nil, err
	}

	return key, errors.Join(os.WriteFile(path, private, 0o600),
		os.WriteFile(filepath.Join(dir, owner+".pub"), public, 0o600))
}

// A signer has a key, and what a verifier must know of it.
type signer struct {
	key         *ecdsa.PrivateKey
	public      []byte // the public key or its certificate, as PEM
	certificate []byte // the certificate, if there is one, as PEM
}

func signCommand(dir, reference string, args []string) error {
	flags := flag.NewFlagSet("sign", flag.ContinueOnError)
	identity := flags.String("identity", "", "the identity in the certificate")
	issuer := flags.String("issuer", "", "the issuer of the identity")
	owner := flags.String("key", "", "the name of a key to sign with, instead of a certificate")
	unlogged := flags.Bool("unlogged", false, "leave out the log of signatures")

	if err := flags.Parse(args); err != nil {
		return err
	}

	var s signer

	var err error
	if *owner != "" {
		s.key, err = keyOf(dir, *owner)
		if err == nil {
			s.public, err = cryptoutils.MarshalPublicKeyToPEM(s.key.Public())
		}
	} else {
		s, err = certify(dir, *identity, *issuer)
	}

	if err != nil {
		return err
	}

	return sign(dir, reference, s, !*unlogged)
}

// certify makes a key, and certifies that it belongs to an identity. The certificate is in the log of certificates.
func certify(dir, identity, issuer string) (signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return signer{}, err
	}

	uri, err := url.Parse(identity)
	if err != nil {
		return signer{}, err
	}

	authority, err := keyOf(dir, "fulcio")
	if err != nil {
		return signer{}, err
	}

	b, err := os.ReadFile(filepath.Join(dir, "fulcio.crt"))
	if err != nil {
		return signer{}, err
	}

	roots, err := cryptoutils.UnmarshalCertificatesFromPEM(b)
	if err != nil {
		return signer{}, err
	}

	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Minute),
		NotAfter: time.Now().Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		URIs: []*url.URL{uri},
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1},
			Value: []byte(issuer)}},
	}

	before, err := x509.CreateCertificate(rand.Reader, template, roots[0], key.Public(), authority)
	if err != nil {
		return signer{}, err
	}

	promise, err := logCertificate(dir, before, roots[0])
	if err != nil {
		return signer{}, err
	}

	template.ExtraExtensions = append(template.ExtraExtensions, promise)

	der, err := x509.CreateCertificate(rand.Reader, template, roots[0], key.Public(), authority)
	if err != nil {
		return signer{}, err
	}

	certificate := cryptoutils.PEMEncode(cryptoutils.CertificatePEMType, der)

	return signer{key: key, public: certificate, certificate: certificate}, nil
}

// logCertificate returns the promise of the log of certificates to have a certificate, as an extension of it.
func logCertificate(dir string, der []byte, issuer *x509.Certificate) (pkix.Extension, error) {
	key, err := keyOf(dir, "ctfe")
	if err != nil {
		return pkix.Extension{}, err
	}

	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return pkix.Extension{}, err
	}

	id, err := logID(key)
	if err != nil {
		return pkix.Extension{}, err
	}

	sct := ct.SignedCertificateTimestamp{LogID: ct.LogID{KeyID: id}, Timestamp: uint64(time.Now().UnixMilli())}
	entry := ct.LogEntry{Leaf: ct.MerkleTreeLeaf{TimestampedEntry: &ct.TimestampedEntry{
		EntryType: ct.PrecertLogEntryType,
		PrecertEntry: &ct.PreCert{IssuerKeyHash: sha256.Sum256(issuer.RawSubjectPublicKeyInfo),
			TBSCertificate: certificate.RawTBSCertificate},
	}}}

	input, err := ct.SerializeSCTSignatureInput(sct, entry)
	if err != nil {
		return pkix.Extension{}, err
	}

	signature, err := tls.CreateSignature(*key, tls.SHA256, input)
	if err != nil {
		return pkix.Extension{}, err
	}

	sct.Signature = ct.DigitallySigned(signature)

	list, err := x509util.MarshalSCTsIntoSCTList([]*ct.SignedCertificateTimestamp{&sct})
	if err != nil {
		return pkix.Extension{}, err
	}

	b, err := tls.Marshal(*list)
	if err != nil {
		return pkix.Extension{}, err
	}

	value, err := asn1.Marshal(b)

	return pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: value}, err
}

// logID returns the name of a log, which is the hash of its key.
func logID(key *ecdsa.PrivateKey) ([sha256.Size]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())

	return sha256.Sum256(der), err
}

// sign pushes a signature of a package beside it.
func sign(dir, reference string, s signer, logged bool) error {
	digest, err := resolve(reference)
	if err != nil {
		return err
	}

	claim, err := payload.Cosign{Image: digest}.MarshalJSON()
	if err != nil {
		return err
	}

	hash := sha256.Sum256(claim)

	b, err := s.key.Sign(rand.Reader, hash[:], crypto.SHA256)
	if err != nil {
		return err
	}

	signature := base64.StdEncoding.EncodeToString(b)

	var options []static.Option
	if s.certificate != nil {
		options = append(options, static.WithCertChain(s.certificate, nil))
	}

	if logged {
		entry, err := logSignature(dir, hash, signature, s.public)
		if err != nil {
			return err
		}

		options = append(options, static.WithBundle(entry))
	}

	layer, err := static.NewSignature(claim, signature, options...)
	if err != nil {
		return err
	}

	signatures, err := ocimutate.AppendSignatures(empty.Signatures(), false, layer)
	if err != nil {
		return err
	}

	tag, err := ociremote.SignatureTag(digest)
	if err != nil {
		return err
	}

	return remote.Write(tag, signatures)
}

// logSignature returns the promise of the log of signatures to have a signature.
func logSignature(dir string, hash [sha256.Size]byte, signature string, public []byte) (*bundle.RekorBundle, error) {
	key, err := keyOf(dir, "rekor")
	if err != nil {
		return nil, err
	}

	id, err := logID(key)
	if err != nil {
		return nil, err
	}

	body, err := json.Marshal(map[string]any{"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": map[string]any{
		"data": map[string]any{"hash": map[string]any{"algorithm": "sha256",
			"value": hex.EncodeToString(hash[:])}},
		"signature": map[string]any{"content": signature, "publicKey": map[string]any{"content": public}},
	}})
	if err != nil {
		return nil, err
	}

	p := bundle.RekorPayload{
		Body: base64.StdEncoding.EncodeToString(body), IntegratedTime: time.Now().Unix(), LogIndex: 1,
		LogID: hex.EncodeToString(id[:]),
	}

	// The keys of a map are sorted, so this JSON is canonical.
	b, err := json.Marshal(map[string]any{"body": p.Body, "integratedTime": p.IntegratedTime, "logIndex": p.LogIndex,
		"logID": p.LogID})
	if err != nil {
		return nil, err
	}

	sum := sha256.Sum256(b)
	promise, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)

	return &bundle.RekorBundle{SignedEntryTimestamp: promise, Payload: p}, err
}

// resolve returns the digest of a package.
func resolve(reference string) (name.Digest, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return name.Digest{}, err
	}

	found, err := remote.Head(ref)
	if err != nil {
		return name.Digest{}, err
	}

	return ref.Context().Digest(found.Digest.String()), nil
}

// change pushes a package under a tag. A label with a random value makes its bytes differ from those of all others.
func change(from, to string) error {
	ref, err := name.ParseReference(from)
	if err != nil {
		return err
	}

	tag, err := name.NewTag(to)
	if err != nil {
		return err
	}

	image, err := remote.Image(ref)
	if err != nil {
		return err
	}

	config, err := image.ConfigFile()
	if err != nil {
		return err
	}

	config = config.DeepCopy()
	if config.Config.Labels == nil {
		config.Config.Labels = map[string]string{}
	}

	config.Config.Labels["changed"] = rand.Text()

	changed, err := mutate.ConfigFile(image, config)
	if err != nil {
		return err
	}

	return remote.Write(tag, changed)
}
