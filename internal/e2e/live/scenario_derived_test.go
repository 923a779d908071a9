package live_test

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// derivedOutputs hashes a generated password, and the password in a Secret of someone else. It puts a certificate into
// keystores. Each Secret has the outputs beside their source.
const derivedOutputs = `
sources:
- {name: login, apiVersion: v1, kind: Secret, matchName: login}
generators:
- {name: admin, password: {length: 24, symbols: 0, prefix: hush-}}
- {name: hash, bcrypt: {secretExpression: generated.admin.password}}
- {name: users, htpasswd: {secretExpression: "{'app': secrets.login.password}"}}
- {name: server, certificate: {subject: {commonName: app.example.org}, dnsNames: [app.example.org]}, refreshPolicy: CreatedOnce}
- {name: p12, pkcs12: {secretExpression: generated.server}}
- {name: jks, jks: {secretExpression: generated.server}}
secrets:
- name: connection
  data:
  - {key: password, value: generated.admin.password}
  - {key: hash, value: generated.hash.hash}
- name: proxy
  data:
  - {key: password, value: secrets.login.password}
  - {key: auth, value: generated.users.auth}
- name: keystores
  data:
  - {key: tls.crt, value: "generated.server['tls.crt']"}
  - valueMap: generated.p12
  - {key: keystore.jks, value: "generated.jks['keystore.jks']"}
`

// derivedSecrets is the number of the generators and exports of derivedOutputs.
const derivedSecrets = 6 + 3

// Outputs that are made from a secret are stored, and are made again only when the secret changes. A Secret never has a
// password beside the hash of another one.
func derives(ctx context.Context, s scenario) error {
	passwords := []map[string]string{login(), login(), login()}
	steps := []func() error{
		func() error { return s.open(ctx, "App", derivedOutputs) },
		func() error { return s.write(ctx, "Secret", "login", passwords[0]) },
		func() error { return s.applyApp(ctx) },
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error { return s.unchangedBy(ctx, 50) },
	}

	for i, next := range passwords[1:] {
		steps = append(steps,
			func() error { return s.rotate(ctx, "admin", fmt.Sprint(i)) },
			func() error { return s.write(ctx, "Secret", "login", next) },
			func() error { return s.hashesFit(ctx, i+2, next["password"]) },
			func() error { return s.says(ctx, s.app(), "Available") },
		)
	}

	steps = append(steps, s.hashesAlwaysFit, func() error { return s.unchangedBy(ctx, 3) })

	return first(steps...)
}

// unchangedBy returns an error if reconciles change a Secret, or create one.
func (s scenario) unchangedBy(ctx context.Context, reconciles int) error {
	before, err := s.composedSecrets(ctx)
	if err != nil {
		return err
	}

	if err := s.force(ctx, s.app(), reconciles); err != nil {
		return err
	}

	for _, o := range before {
		if err := s.untouched(ctx, o); err != nil {
			return err
		}
	}

	after, err := s.composedSecrets(ctx)
	if err == nil && len(after) != len(before) {
		return brokenf("there were %d Secrets, and now there are %d", len(before), len(after))
	}

	return err
}

func (s scenario) composedSecrets(ctx context.Context) (out []*unstructured.Unstructured, err error) {
	err = eachObject(ctx, s.ns, func(o *unstructured.Unstructured) {
		if o.GetKind() == "Secret" && o.GetLabels()["crossplane.io/composite"] != "" {
			out = append(out, o)
		}
	})

	return out, err
}

// hashesFit waits until the outputs are those of the latest passwords, and the former generations are deleted.
func (s scenario) hashesFit(ctx context.Context, generation int, password string) error {
	return eventually(ctx, soon, "the hashes of the next passwords", func() error {
		proxy, err := s.data(ctx, "Secret", "app-proxy")
		if err != nil {
			return err
		}

		if proxy["password"] != password {
			return fmt.Errorf("the proxy has the former password")
		}

		all, err := s.composedSecrets(ctx)
		if err == nil && len(all) != derivedSecrets {
			return fmt.Errorf("there are %d Secrets", len(all))
		}

		if err == nil {
			_, err = s.Get(ctx, s.core("Secret", fmt.Sprintf("app-hash-%d", generation)))
		}

		return err
	})
}

// hashesAlwaysFit returns an error if a version of an exported Secret has a password beside the hash of another one.
func (s scenario) hashesAlwaysFit() error {
	versions := 0

	for _, e := range film.of(s.ns) {
		data := live.DataOf(e.object)

		hash := data["hash"]
		if auth, ok := strings.CutPrefix(data["auth"], "app:"); ok {
			hash = strings.TrimSpace(auth)
		}

		if hash == "" || data["password"] == "" {
			continue
		}

		versions++

		if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(data["password"])); err != nil {
			return brokenf("%s has a password beside the hash of another one", e)
		}
	}

	if versions < 6 {
		return fmt.Errorf("want at least 6 versions of both Secrets, got %d", versions)
	}

	return nil
}
