package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// Each required key is one without which the API server refuses the Secret.
func TestRequiredKeys(t *testing.T) {
	for typ, want := range map[string][]string{
		"kubernetes.io/tls": {"tls.crt", "tls.key"}, "kubernetes.io/dockerconfigjson": {".dockerconfigjson"},
		"kubernetes.io/dockercfg": {".dockercfg"}, "kubernetes.io/ssh-auth": {"ssh-privatekey"},
		"kubernetes.io/basic-auth": nil, "Opaque": nil,
	} {
		if diff := cmp.Diff(want, RequiredKeys(typ)); diff != "" {
			t.Errorf("RequiredKeys(%q): -want, +got:\n%s", typ, diff)
		}
		for _, key := range want {
			o := Object{Kind: Secret, Type: typ, Data: map[string]sensitive.Bytes{}}
			for _, other := range want {
				o.Data[other] = sensitive.FromString("{}")
			}
			if errs := o.validateType(); errs != nil {
				t.Errorf("%s: want a valid Secret, got %v", typ, errs)
			}
			delete(o.Data, key)
			if errs := o.validateType(); errs == nil {
				t.Errorf("%s without %s: want an error", typ, key)
			}
		}
	}
}
