package pem_test

import (
	stdpem "encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/pem"
)

const (
	blockA = "-----BEGIN A-----\nYQ==\n-----END A-----\n"
	blockB = "-----BEGIN B-----\nYg==\n-----END B-----\n"

	// As OpenSSL writes an encrypted key in its traditional format.
	encrypted = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: " +
		"AES-128-CBC,0102\n\nYQ==\n-----END RSA PRIVATE KEY-----\n"
)

func TestSplit(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []string
		err  string
	}{
		{blockA, []string{blockA}, ""},
		{"# one\n" + blockA + "\ntwo -----\n\n" + blockB + "three", []string{blockA, blockB}, ""},
		{
			"Bag Attributes\n    localKeyID: 01 02\nsubject=CN = a\n" + blockA +
				"Bag Attributes: <No Attributes>\n" + blockB,
			[]string{blockA, blockB}, "",
		},
		{strings.ReplaceAll(blockA+blockB, "\n", "\r\n"), []string{blockA, blockB}, ""},
		{
			"-----BEGIN A-----\n" + strings.Repeat("YWFh", 17) + "\n-----END A-----\n",
			[]string{"-----BEGIN A-----\n" + strings.Repeat("YWFh", 16) + "\nYWFh\n-----END A-----\n"}, "",
		},
		{encrypted, []string{encrypted}, ""},
		{"", nil, "the text has no PEM block"},
		{blockA + blockB[:30], nil, "a PEM block is incomplete or invalid"},
		{blockA + strings.Replace(blockB, "Yg", "Y.", 1), nil, "a PEM block is incomplete or invalid"},
		{blockA + strings.Replace(blockB, "END B", "END A", 1), nil, "a PEM block is incomplete or invalid"},
		{blockA + strings.ReplaceAll(blockB, "-----B", "  -----B"), nil, "a PEM block is incomplete or invalid"},
		{strings.ReplaceAll(blockA, " A-", " A:B-"), nil, "a PEM block is incomplete or invalid"},
		{strings.Repeat(blockA, limits.PEMBlocks+1), nil, "it has more than 1000 PEM blocks"},
	} {
		t.Run("", func(t *testing.T) {
			got, err := pem.Split(tc.text)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.err, message(err)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestJoin(t *testing.T) {
	for _, tc := range []struct {
		texts []string
		want  string
		err   string
	}{
		{[]string{strings.TrimSpace(blockA), blockB + "\n\n"}, blockA + blockB, ""},
		{[]string{blockA, blockB + "# a comment\n" + blockA}, blockA + blockB + blockA, ""},
		{[]string{blockA, blockA}, blockA + blockA, ""},
		{nil, "", "the list is empty"},
		{[]string{blockA, ""}, "", "an element of the list has no PEM block"},
		{[]string{"canary", blockA}, "", "an element of the list has no PEM block"},
		{[]string{blockA[:20], blockA[20:]}, "", "a PEM block is incomplete or invalid"},
		{[]string{strings.Repeat(blockA, limits.PEMBlocks), blockA}, "", "it has more than 1000 PEM blocks"},
	} {
		t.Run("", func(t *testing.T) {
			got, err := pem.Join(tc.texts)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.err, message(err)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestPrivateKeyAndCertificates(t *testing.T) {
	const certificate = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
	block := func(kind string) string { return strings.ReplaceAll(blockA, " A-", " "+kind+"-") }
	for _, kind := range []string{"PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY",
		"OPENSSH PRIVATE KEY"} {
		text := "# a bundle\n" + certificate + block("EC PARAMETERS") + block(kind) + certificate
		if got, err := pem.PrivateKey(text); got != block(kind) || err != nil {
			t.Errorf("%s: got %q, %v", kind, got, err)
		}
		if got, err := pem.Certificates(text); got != certificate+certificate || err != nil {
			t.Errorf("certificates beside %s: got %q, %v", kind, got, err)
		}
	}
	for text, want := range map[string]string{
		certificate:           "the text has no private key",
		block("PUBLIC KEY"):   "the text has no private key",
		block("XPRIVATE KEY"): "the text has no private key",
		encrypted + encrypted: "the text has more than one private key",
		"":                    "the text has no PEM block",
	} {
		if got, err := pem.PrivateKey(text); got != "" || message(err) != want {
			t.Errorf("want %q, got %q, %v", want, got, err)
		}
	}
	if got, err := pem.Certificates(encrypted); got != "" || message(err) != "the text has no certificate" {
		t.Errorf("certificates of a key: got %q, %v", got, err)
	}
}

// The law: a split of joined blocks returns the same blocks, and a join of split blocks returns the same text. The
// blocks are those of Go's decoder, and none is lost.
func FuzzPEMSplitJoin(f *testing.F) {
	for _, text := range []string{
		blockA, blockA + blockB, "x\n" + blockA + "\r\n" + encrypted, strings.TrimSpace(blockB), blockA[:20],
		"-----BEGIN -----\n-----END -----\n", "-----BEGIN A-----\na:b\n\n-----END A-----\n", "-----BEGIN A-----\n: " +
			"\n\nYQ==\n-----END A-----",
		"-----BEGIN a:b-----\nYQ==\n-----END a:b-----",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parts, err := pem.Split(text)
		if err != nil {
			return
		}
		joined, err := pem.Join(parts)
		if err != nil || joined != strings.Join(parts, "") {
			t.Fatalf("%q is split into %q, which is joined to %q, %v", text, parts, joined, err)
		}
		again, err := pem.Split(joined)
		if diff := cmp.Diff(parts, again); diff != "" || err != nil {
			t.Fatalf("%q: %v, -once +twice:\n%s", text, err, diff)
		}
		if direct, err := pem.Join([]string{text}); direct != joined || err != nil {
			t.Fatalf("%q: want %q, got %q, %v", text, joined, direct, err)
		}
		rest := []byte(text)
		for _, part := range parts {
			var want *stdpem.Block
			want, rest = stdpem.Decode(rest)
			got, after := stdpem.Decode([]byte(part))
			if diff := cmp.Diff(want, got); diff != "" || len(after) > 0 || strings.HasSuffix(part, "\n\n") {
				t.Fatalf("%q: %q is another block: -want +got:\n%s", text, part, diff)
			}
		}
		if strings.Contains(string(rest), "-----BEGIN ") || len(parts) != strings.Count(text, "-----BEGIN ") {
			t.Fatalf("%q: blocks are lost: %q", text, parts)
		}
	})
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprint(err)
}
