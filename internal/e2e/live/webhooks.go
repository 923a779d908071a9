package live

import (
	"context"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strconv"
)

// usageWebhook is the webhook of Crossplane's chart that refuses to delete an object that is in use. It calls this
// machine instead of a Service.
const usageWebhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: crossplane-no-usages}
webhooks:
- name: nousages.protection.crossplane.io
  admissionReviewVersions: [v1]
  clientConfig: {url: "https://127.0.0.1:%d/validate-no-usages", caBundle: %s}
  failurePolicy: Fail
  objectSelector: {matchLabels: {crossplane.io/in-use: "true"}}
  rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [DELETE], resources: ["*"]}]
  sideEffects: None
`

// Webhooks returns the flags with which Crossplane serves its webhooks, and registers the webhook of usages. The
// returned function removes it.
func (c *ControlPlane) Webhooks(ctx context.Context) (
	flags []string, remove func(ctx context.Context) error, err error,
) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, nil, err
	}

	p, err := c.ca.sign(pkix.Name{CommonName: "crossplane-webhooks"}, "localhost")
	if err != nil {
		return nil, nil, err
	}

	for name, b := range map[string][]byte{"tls.crt": p.cert, "tls.key": p.key} {
		if err := writeFile(c.path("webhooks"), name, b); err != nil {
			return nil, nil, err
		}
	}

	webhook := Ref{
		APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration", Name: "crossplane-no-usages",
	}
	remove = func(ctx context.Context) error { return c.Delete(ctx, webhook) }
	flags = []string{
		"--enable-webhooks=true", "--webhook-port=" + strconv.Itoa(port),
		"--tls-server-certs-dir=" + filepath.Clean(c.path("webhooks")),
	}

	return flags, remove, c.Apply(ctx, fmt.Sprintf(usageWebhook, port, base64.StdEncoding.EncodeToString(c.ca.pem)))
}
