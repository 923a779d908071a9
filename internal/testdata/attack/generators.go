package attack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A Generating is an input that generates too much for one request, with the composite and the objects that it reads.
type Generating struct {
	Input     string // without its apiVersion and kind
	Composite *structpb.Struct
	Objects   []*structpb.Struct

	// Reconciles is how many reconciles create a further object, at least. Each one creates at most Most generations.
	Reconciles, Most int
}

// publicCAs is the number of certificates that a Linux distribution trusts.
const publicCAs = 140

// Generators returns what is generated for each item of lists.
func Generators() map[string]Generating {
	xr := structOf(fields{
		"apiVersion": "example.org/v1", "kind": "XDatabase", "metadata": fields{"name": "shop", "namespace": "team-a", "uid": "xr-uid"},
		"spec": fields{"users": list(limits.Items, func(i int) any { return fmt.Sprint("u", i) })},
	})
	trusted := structOf(fields{
		"apiVersion": "v1", "kind": "Secret", "metadata": fields{"name": "tls", "namespace": "team-a", "uid": "tls-uid"},
		"data": keystoreData(),
	})
	keystores := func(kind string) string {
		return fmt.Sprintf("- {name: %[1]s, forEachExpression: composite.spec.users, keyExpression: item, "+
			"%[1]s: {secretExpression: secrets.tls, truststore: true}}\n", kind)
	}
	exported := func(generator, key string) string {
		return fmt.Sprintf("- {name: %[1]s, forEachExpression: composite.spec.users, keyExpression: item, "+
			"data: [{key: v, value: \"generated.%[1]s[key]['%[2]s']\"}]}\n", generator, key)
	}
	keys := ""
	for i := range 16 {
		keys += fmt.Sprintf("k%d, ", i)
	}
	return map[string]Generating{
		"keystores": {
			Input: "sources: [{name: tls, apiVersion: v1, kind: Secret}]\ngenerators:\n" + keystores("pkcs12") + keystores("jks") +
				"secrets:\n" + exported("pkcs12", "keystore.p12") + exported("jks", "keystore.jks"),
			Composite: xr, Objects: []*structpb.Struct{trusted}, Reconciles: 8, Most: limits.SlowGenerations,
		},
		"passwords": {
			Input: "generators:\n- {name: long, forEachExpression: composite.spec.users, keyExpression: item, " +
				"password: {length: 1024, allowRepeat: true, secretKeys: [" + keys + "]}}\nsecrets:\n" + exported("long", "k0"),
			Composite: xr, Reconciles: 8, Most: limits.GenerationsFuel/(16*1024) + 1,
		},
	}
}

// keystoreData returns a key with its certificate, and the certificates of many CAs, in base64.
func keystoreData() fields {
	encode := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(fmt.Sprintf("cannot generate a key: %v", err))
	}
	certificate := func(n int64) []byte {
		c := &x509.Certificate{
			SerialNumber: big.NewInt(n), Subject: pkix.Name{CommonName: fmt.Sprintf("ca-%0400d", n)}, // as large as one with an RSA key
			NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0), IsCA: true, BasicConstraintsValid: true,
		}
		der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		if err != nil {
			panic(fmt.Sprintf("cannot create a certificate: %v", err))
		}
		return der
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(fmt.Sprintf("cannot encode a key: %v", err))
	}
	cas := ""
	for n := range publicCAs {
		cas += encode("CERTIFICATE", certificate(int64(n+2)))
	}
	data := fields{}
	for name, text := range map[string]string{
		"tls.crt": encode("CERTIFICATE", certificate(1)), "tls.key": encode("PRIVATE KEY", private), "ca.crt": cas,
	} {
		data[name] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return data
}
