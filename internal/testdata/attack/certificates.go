package attack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// certificates returns a PEM text with certificates whose signatures take the most time to check. By its subject, each
// one may have signed each other one, but each one signed itself.
func certificates(curve elliptic.Curve, different, repeated int) string {
	var b strings.Builder
	for i := range different {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			panic(fmt.Sprintf("cannot generate a key: %v", err))
		}
		c := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: "same"}, BasicConstraintsValid: true, IsCA: true,
			NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0), KeyUsage: x509.KeyUsageCertSign,
		}
		der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		if err != nil {
			panic(fmt.Sprintf("cannot create a certificate: %v", err))
		}
		b.WriteString(strings.Repeat(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), repeated))
	}
	return b.String()
}
