package plan

import (
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/object"
)

// referredSecrets are the Secrets in the composite's namespace that its composed
// resources refer to, desired or observed, and which resource does: a connection
// Secret that a provider is going to write, or a password that it reads. Nobody but
// the Composition may have these names, also while there is no such Secret yet.
func (r *run) referredSecrets() map[target]string {
	out := map[target]string{}
	add := func(composed string, s *structpb.Struct) {
		walkSecretRefs(structpb.NewStructValue(s), func(ref *structpb.Struct) {
			name, ns := ref.GetFields()["name"].GetStringValue(), ref.GetFields()["namespace"].GetStringValue()
			if name == "" || ns != "" && ns != r.namespace {
				return
			}
			t := target{object.Secret, r.namespace, name}
			if _, ok := out[t]; !ok {
				out[t] = composed
			}
		})
	}
	for _, composed := range sortedKeys(r.Desired) {
		add(composed, r.Desired[composed])
	}
	for _, composed := range sortedKeys(r.Observation.Resources) {
		add(composed, r.Observation.Resources[composed].Object)
	}
	return out
}

// walkSecretRefs finds objects by the names that fields for a reference to a Secret
// have: secretRef, writeConnectionSecretToRef, passwordSecretRef, and lists of them.
func walkSecretRefs(v *structpb.Value, found func(ref *structpb.Struct)) {
	for _, e := range v.GetListValue().GetValues() {
		walkSecretRefs(e, found)
	}
	for k, e := range v.GetStructValue().GetFields() {
		if lower := strings.ToLower(k); strings.Contains(lower, "secret") && (strings.HasSuffix(lower, "ref") || strings.HasSuffix(lower, "refs")) {
			found(e.GetStructValue())
			for _, item := range e.GetListValue().GetValues() {
				found(item.GetStructValue())
			}
		}
		walkSecretRefs(e, found)
	}
}
