package credential

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

func outputsOf(texts ...string) Outputs {
	out := Outputs{}
	for i := 0; i < len(texts); i += 2 {
		out[texts[i]] = sensitive.FromString(texts[i+1])
	}
	return out
}

func TestSourceOnly(t *testing.T) {
	all := Source{Map: outputsOf(tlsCert, "1", tlsKey, "2", caCert, "3", "other", "4")}
	pair := Source{Map: outputsOf(tlsCert, "1", tlsKey, "2")}
	three := Source{Map: outputsOf(tlsCert, "1", tlsKey, "2", caCert, "3")}
	cases := map[string]struct {
		reason     string
		kind       Kind
		from, want Source
	}{
		"Hash":       {"it reads the text", cheapBcrypt, ofText("made-up").Source, ofText("made-up").Source},
		"Htpasswd":   {"each key is a user", cheapHtpasswd, all, all},
		"Keystore":   {"without a truststore, no CA is read", NewJKS(&v1beta1.JKSGenerator{}), all, pair},
		"Truststore": {"the CA is read", NewJKS(&v1beta1.JKSGenerator{Truststore: true}), all, three},
		"Missing":    {"a missing key is not added", NewJKS(&v1beta1.JKSGenerator{Truststore: true}), pair, pair},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.from.Only(tc.kind)
			if diff := cmp.Diff(texts(tc.want), texts(got)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// texts are the made-up values of a source.
func texts(s Source) map[string]string {
	out := map[string]string{"": string(s.Text.Reveal())}
	for key, value := range s.Map {
		out[key] = string(value.Reveal())
	}
	return out
}
