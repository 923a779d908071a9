package pem_test

import (
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/pem"
)

func TestChain(t *testing.T) {
	root := issue(t, "root", nil)
	middle := issue(t, "middle", root)
	leaf := issue(t, "leaf", middle, server)
	self := issue(t, "self", nil, server)
	selfCA := issue(t, "self", nil)
	chain := leaf.text + middle.text + root.text
	cases := map[string]struct {
		reason, text    string
		chain, leaf, ca string
	}{
		"Ordered": {"it is already a chain", chain, chain, leaf.text, middle.text + root.text},
		"Reversed": {
			"as some systems write it", root.text + middle.text + leaf.text, chain, leaf.text,
			middle.text + root.text,
		},
		"NoRoot": {
			"servers do not send the root", middle.text + leaf.text, leaf.text + middle.text, leaf.text, middle.text,
		},
		"Repeated": {
			"ca.crt and tls.crt have the same certificates",
			leaf.text + middle.text + middle.text + root.text + leaf.text, chain, leaf.text, middle.text + root.text,
		},
		"Key": {"as in a bundle of HAProxy", encrypted + chain, chain, leaf.text, middle.text + root.text},
		"CAs": {
			"without a leaf, the first CA signs no other one", root.text + middle.text, middle.text + root.text,
			middle.text, middle.text + root.text,
		},
		"SelfSigned": {
			"openssl req -x509 writes such a certificate", selfCA.text, selfCA.text, selfCA.text, selfCA.text,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, f := range []struct {
				name, want string
				of         func(string) (string, error)
			}{{"chain", tc.chain, pem.Chain}, {"leaf", tc.leaf, pem.Leaf}, {"ca", tc.ca, pem.CA}} {
				got, err := f.of(tc.text)
				if diff := cmp.Diff(f.want, got); diff != "" || err != nil {
					t.Errorf("%s of %s: %v, -want +got:\n%s", f.name, tc.reason, err, diff)
				}
			}
		})
	}
	for name, text := range map[string]string{"OnlyLeaf": leaf.text, "SelfSignedServer": self.text} {
		if got, err := pem.CA(text); got != "" || message(err) != "the text has no certificate of a CA" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestChainRefuses(t *testing.T) {
	root, other := issue(t, "root", nil), issue(t, "root", nil)
	middle := issue(t, "middle", root)
	crossed := issueWith(t, middle.key, "middle", other)
	leaf := issue(t, "leaf", middle, server)
	plainLeaf := issue(t, "leaf", root, server, withoutKeyID)
	notCA := issue(t, "middle", root, server)
	below := issueWith(t, issue(t, "x", nil).key, "leaf", notCA, server)
	renewed := issueWith(t, root.key, "root", nil)
	const (
		leaves = "the certificates are not one chain: several sign no other one, or some sign each other: " +
			"remove what does not belong to it"
		issuers = "the certificates are not one chain: the issuer of one may be any of several others: remove what " +
			"does not belong to it"
	)
	many := strings.Builder{}
	for i := range limits.ChainCertificates + 1 {
		many.WriteString(issue(t, fmt.Sprint(i), nil).text)
	}
	for _, tc := range []struct{ text, want string }{
		{leaf.text + issue(t, "leaf", middle, server).text + middle.text, leaves},
		{leaf.text + root.text, leaves},
		{leaf.text + middle.text + other.text, leaves},
		{leaf.text + middle.text + root.text + other.text, leaves},
		{plainLeaf.text + other.text, leaves},
		{plainLeaf.text + root.text + other.text, issuers},
		{leaf.text + middle.text + crossed.text + root.text + other.text, issuers},
		{middle.text + root.text + renewed.text, issuers},
		{root.text + renewed.text, leaves},
		{below.text + notCA.text, leaves},
		{encrypted, "the text has no certificate"},
		{strings.ReplaceAll(blockA, " A-", " CERTIFICATE-"), "a certificate cannot be parsed"},
		{leaf.text + middle.text[:99], "a PEM block is incomplete or invalid"},
		{many.String(), "the text has more than 32 different certificates"},
	} {
		t.Run("", func(t *testing.T) {
			for _, f := range []func(string) (string, error){pem.Chain, pem.Leaf, pem.CA} {
				if got, err := f(tc.text); got != "" || message(err) != tc.want {
					t.Errorf("want %q, got %q, %v", tc.want, got, err)
				}
			}
		})
	}
}

// The law: the order of the certificates, repetitions, and what is between them change neither the result nor the
// error.
func TestChainOfAnyOrder(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		plain := func(c *x509.Certificate) {
			if seed%3 == 0 {
				withoutKeyID(c)
			}
		}
		last := issue(t, "ca", nil, plain)
		texts := []string{last.text}
		for range r.IntN(5) {
			last = issue(t, fmt.Sprint(len(texts)), last, plain)
			texts = append([]string{last.text}, texts...)
		}
		want := strings.Join(texts, "")
		if seed%4 == 0 { // there is no chain
			texts, want = append(texts, issue(t, "ca", nil, plain).text), ""
		}
		_, wantErr := pem.Chain(strings.Join(texts, ""))
		shuffled := append([]string{texts[r.IntN(len(texts))], encrypted, "# a comment\n"}, texts...)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		got, err := pem.Chain(strings.Join(shuffled, ""))
		if got != want || message(err) != message(wantErr) || (err == nil) == (want == "") {
			t.Fatalf("seed %d: want %q, %v, got %q, %v", seed, want, wantErr, got, err)
		}
	}
}
