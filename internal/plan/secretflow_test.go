package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/plan/plantest"
)

// The result of a function is as secret as its operands. An encoding or a hash of a password may not flow into a
// ConfigMap.
func TestFunctionsOfSecretsAreSecret(t *testing.T) {
	for _, text := range []string{
		"hash.fnv64a(secret.password)", "hash.md5(secret.password)", "hash.sha1(secret.password)", "hash.sha256(secret.password)", "hash.sha512(secret.password)",
		"sha256(secret.password)", "hex.encode(hash.sha256(secret.password))", "string(hash.sha256(secret.password)) + ''",
		"hmac.sha256(secret.password, 'message')", "hmac.sha256('key', secret.password)", "hex.encode(secret.password)",
		"hex.decode(secret.password)", "base64url.encode(secret.password)", "base64url.decode(secret.password)",
		"url(secret.password).getHost()", "isURL(secret.password) ? 'a' : 'b'", "string(ip(secret.password))",
		"string(cidr(secret.password).masked())", "string(cidr('10.0.0.0/8').containsIP(secret.password))",
		"string(quantity(secret.password).asInteger())", "string(quantity('1').add(quantity(secret.password)).asInteger())",
		"string(semver(secret.password).major())", "format.uri().validate(secret.password).orValue(['']).join()",
		"format.named(secret.password).hasValue() ? 'a' : 'b'",
		"{'a': secret.password}.merge({}).a", "{}.merge({'a': secret.password}).b",
		"pem.split(secret.password)[0]", "pem.join([secret.password, '']) + ''", "pem.chain(secret.password)",
		"pem.leaf(secret.password)", "pem.ca(secret.password)", "pem.certificates(secret.password)", "pem.privateKey(secret.password)",
		"properties.encode({'a': secret.password})", "dotenv.encode({'A': secret.password})", "ini.encode({'a': {'b': secret.password}})",
		"toml.encode({'a': [secret.password]})", "pgpass.encode([{'password': secret.password}])", "libpq.encode({'password': secret.password})",
		"jdbc.url({'driver': 'mysql', 'host': 'h', 'username': 'u', 'password': secret.password})",
		"mysql.dsn({'host': 'h', 'username': 'u', 'password': secret.password})", "amqp.url({'host': 'h', 'username': 'u', 'password': secret.password})",
		"mongodb.url({'host': 'h', 'username': 'u', 'password': secret.password})", "redis.url({'host': 'h', 'password': secret.password})",
	} {
		_, wrong := plantest.Compile(t, plantest.Exports(fmt.Sprintf(
			`configMaps: [{name: a, from: db, data: [{key: k, value: %q}]}]`, text)))
		if len(wrong) != 1 || !strings.Contains(wrong[0], "uses secrets.db.password, "+plantest.Flow) {
			t.Errorf("%s: want a diagnostic, got %v", text, wrong)
		}
	}
}
