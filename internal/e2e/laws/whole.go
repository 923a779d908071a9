package laws

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// WholeDigest returns an error if the digest belongs to another password.
func WholeDigest(data map[string]string) error {
	sum := sha256.Sum256([]byte(data["password"]))
	if data["digest"] != hex.EncodeToString(sum[:]) {
		return errors.New("digest is of another password")
	}

	return nil
}

// WholeConnection returns an error if the URL has another password or id.
func WholeConnection(data map[string]string) error {
	if data["url"] != "postgres://admin:"+data["password"]+"@"+data["id"] {
		return errors.New("url is of another password or id")
	}

	return nil
}

// WholeTLS returns an error if the certificate, its key and its CA do not belong together.
func WholeTLS(data map[string]string) error {
	pair, err := tls.X509KeyPair([]byte(data["tls.crt"]), []byte(data["tls.key"]))
	if err != nil {
		return fmt.Errorf("certificate and key: %w", err)
	}

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(data["ca.crt"]))

	// The present is not the time of the check, because a history can have a clock of its own. A certificate that its
	// CA accepts in its first and in its last moment is accepted whenever it is valid. So this finds what a check in
	// the present finds, except that the certificate itself is no longer or not yet valid, which no law is about.
	for _, at := range []time.Time{pair.Leaf.NotBefore, pair.Leaf.NotAfter} {
		o := x509.VerifyOptions{Roots: roots, DNSName: "server.example.org", CurrentTime: at}
		if _, err := pair.Leaf.Verify(o); err != nil {
			return fmt.Errorf("certificate and CA: %w", err)
		}
	}

	return nil
}

// Moment returns the number in the name of the user. All keys of a source contain it.
func Moment(data map[string]string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(data["user"], "user-"))
	return n
}

// WholeSource returns an error if the values of a source were not written together.
func WholeSource(data map[string]string) error {
	n := strconv.Itoa(Moment(data))
	if data["user"] != "user-"+n || data["password"] != "password-"+n || data["both"] != "user-"+n+":password-"+n {
		return errors.New("user, password and both are of different moments")
	}

	return nil
}
