package function_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// hashOfAdmin exports a password beside its hash, in one Secret. A required key has the hash, and an optional one.
const hashOfAdmin = `
- name: hash
  bcrypt: {secretExpression: generated.admin.password, cost: 4}
  gracePeriod: 1h
secrets:
- name: login
  data:
  - {key: password, value: generated.admin.password}
  - {key: hash, value: generated.hash.hash}
  - {key: again, value: "generated.?hash.?hash", optional: true}
  - {key: former, value: "previous.?hash.?hash", optional: true}
`

// hashOfSource hashes the password in a Secret that someone else writes.
const hashOfSource = `
sources:
- {name: given, apiVersion: v1, kind: Secret, matchName: given, optional: true}
generators:
- name: hash
  bcrypt: {secretExpression: secrets.given.password, cost: 4}
secrets:
- name: login
  data:
  - {key: password, value: secrets.given.password}
  - {key: hash, value: generated.hash.hash}
`

// give writes the Secret of a source. With an empty password, it deletes it.
func give(t *testing.T, c *functiontest.ControlPlane, password string) {
	t.Helper()
	const key = "v1|Secret|team-a|given"
	delete(c.Stored, key)
	if password != "" {
		c.Stored[key] = functiontest.Parse(t, fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: given, namespace: team-a, uid: given}, data: {password: %s}}",
			base64.StdEncoding.EncodeToString([]byte(password))))
	}
}

// fits fails if the exported hash is not that of the exported password.
func fits(t *testing.T, c *functiontest.ControlPlane, when string) {
	t.Helper()
	password, hash := c.Value("shop-login", "password"), c.Value("shop-login", "hash")
	if password == "" && hash == "" {
		return // not exported yet
	}
	if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)); err != nil {
		t.Fatalf("%s: the exported hash is not that of the exported password: %v", when, err)
	}
}

// settle reconciles until nothing changes. After each reconcile, password and hash fit.
func settle(t *testing.T, c *functiontest.ControlPlane, when string) {
	t.Helper()
	for range 12 {
		before := storedState(c)
		c.Reconcile()
		fits(t, c, when)
		if slices.EqualFunc(before, storedState(c), func(a, b *structpb.Struct) bool { return proto.Equal(a, b) }) {
			return
		}
	}
	t.Fatalf("%s: it does not settle", when)
}

func storedState(c *functiontest.ControlPlane) (out []*structpb.Struct) {
	for _, key := range slices.Sorted(maps.Keys(c.Stored)) {
		out = append(out, proto.CloneOf(c.Stored[key]))
	}
	return out
}

func TestHashesFollowTheirPasswords(t *testing.T) {
	c := functiontest.NewControlPlane(t, functiontest.RotatedPassword+hashOfAdmin)
	settle(t, c, "at first")
	c.Wants("at first", "shop-admin-1 shop-hash-1 shop-login", "Available")
	password, hash := c.Value("shop-login", "password"), c.Value("shop-login", "hash")
	if password == "" || c.Value("shop-login", "again") != hash {
		t.Fatal("nothing is exported")
	}

	for n := range 50 { // nothing changes
		c.Wait(time.Hour)
		c.Reconcile()
		if c.Names() != "shop-admin-1 shop-hash-1 shop-login" || c.Value("shop-login", "hash") != hash {
			t.Fatalf("reconcile %d: %s", n, c.Names())
		}
	}

	c.Wait(functiontest.Interval)
	for n := range 8 {
		c.Reconcile()
		fits(t, c, fmt.Sprintf("reconcile %d of the rotation", n))
		if again := c.Value("shop-login", "again"); again != c.Value("shop-login", "hash") {
			t.Fatalf("reconcile %d of the rotation: the optional key has %q", n, again)
		}
	}
	c.Wants("rotated", "shop-admin-1 shop-admin-2 shop-hash-1 shop-hash-2 shop-login", "Available")
	if c.Value("shop-login", "password") == password || c.Value("shop-login", "former") != hash {
		t.Error("the next password is not exported, or the former hash is not beside it")
	}
	c.Wait(time.Hour)
	settle(t, c, "after the grace period")
	c.Wants("after the grace period", "shop-admin-1 shop-admin-2 shop-hash-2 shop-login", "Available")
}

func TestHashesOfSources(t *testing.T) {
	c := functiontest.NewControlPlane(t, hashOfSource)
	settle(t, c, "without the source")
	c.Wants("without the source", "",
		`Waiting Secret "login" (team-a/shop-login) is not created: key "password" waits for secrets.given (Secret team-a/given does not exist); key "hash" waits for generated.hash (secrets.given (Secret team-a/given does not exist))`)

	give(t, c, "one")
	settle(t, c, "with a source")
	c.Wants("with a source", "given shop-hash-1 shop-login", "Available")
	hash := c.Value("shop-login", "hash")

	give(t, c, "")
	settle(t, c, "the source is gone")
	if c.Value("shop-login", "hash") != hash || c.Object("Secret", "shop-hash-1") == nil {
		t.Error("the hash is not kept while its source is gone")
	}
	give(t, c, "one")
	settle(t, c, "the same source is back")
	if c.Value("shop-login", "hash") != hash {
		t.Error("the same source has another hash")
	}

	give(t, c, "two")
	c.Reconcile() // creates the second generation
	fits(t, c, "changed")
	c.Wants("changed", "given shop-hash-1 shop-hash-2 shop-login",
		`Held Secret "login" (team-a/shop-login) is kept unchanged: key "hash" waits for generated.hash (generation 1 belongs to another source, and the next one is not in use yet); generator "hash": its generation 2 is created in this reconcile; exports of generation 1 are kept`)
	give(t, c, "three")
	settle(t, c, "changed again before it was adopted")
	c.Wants("changed again", "given shop-hash-3 shop-login", "Available")

	give(t, c, "two")
	c.Reconcile()
	give(t, c, "three")
	settle(t, c, "changed, and back before it was adopted")
	c.Wants("and back", "given shop-hash-3 shop-login", "Available")
}

// The state of a generation contains no hash by which guesses of its source can be tested without its data.
func TestStateHasSaltedHashes(t *testing.T) {
	c := functiontest.NewControlPlane(t, strings.Replace(hashOfSource, "secrets:\n- name", "- name: other\n  bcrypt: {secretExpression: secrets.given.password, cost: 4}\nsecrets:\n- name", 1))
	give(t, c, "one")
	settle(t, c, "with a source")
	hash := functiontest.StateOf(c.Object("Secret", "shop-hash-1"))["sourceHash"].GetStringValue()
	if other := functiontest.StateOf(c.Object("Secret", "shop-other-1"))["sourceHash"].GetStringValue(); hash == "" || hash == other {
		t.Errorf("two generations of one source have the hashes %q and %q of it", hash, other)
	}
	exported := credential.Outputs{"hash": sensitive.FromString(c.Value("shop-login", "hash"))}
	if hash == seal.SourceCode(exported, credential.Source{Text: sensitive.FromString("one")}) {
		t.Error("with the exported hash, guesses of the source can be tested fast")
	}
}

// While a part of the source is missing or fails, the other parts can change. Then the hash may be that of a former password.
func TestHashesOfUnknownSources(t *testing.T) {
	const input = `
- name: users
  htpasswd: {secretExpression: "{'admin': generated.admin.password}.merge(json.decode(secrets.given.password))", cost: 4}
sources:
- {name: given, apiVersion: v1, kind: Secret, matchName: given, optional: true}
secrets:
- name: login
  data:
  - {key: password, value: generated.admin.password}
  - {key: hash, value: "generated.users.auth.split(':')[1].split('\\n')[0]"}
- name: optional
  data:
  - {key: role, value: composite.spec.role}
  - {key: hash, value: "generated.?users.?auth", optional: true}
`
	for name, given := range map[string]string{"missing": "", "failing": "{"} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, functiontest.RotatedPassword+input)
			give(t, c, "{}")
			settle(t, c, "at first")
			password, optional := c.Value("shop-login", "password"), c.Value("shop-optional", "hash")
			give(t, c, given)
			c.Wait(functiontest.Interval)
			for n := range 6 {
				c.Reconcile()
				fits(t, c, fmt.Sprintf("reconcile %d without a part of the source", n))
				if c.Value("shop-login", "password") != password || optional == "" || c.Value("shop-optional", "hash") != optional {
					t.Fatalf("reconcile %d: the export is not kept", n)
				}
			}
			give(t, c, "{}")
			settle(t, c, "the source is back")
			if c.Condition() != "Available" || c.Value("shop-login", "password") == password {
				t.Errorf("the next password is not exported: %s", c.Condition())
			}
		})
	}
}

// A generator that fails in each reconcile takes no turn from the others.
func TestFailingHashBlocksNoOther(t *testing.T) {
	c := functiontest.NewControlPlane(t, strings.Replace(hashOfSource, "generators:\n", "generators:\n- name: bad\n  bcrypt: {secretExpression: secrets.given.password + secrets.given.password}\n", 1))
	give(t, c, strings.Repeat("p", 40))
	settle(t, c, "with a source")
	if c.Value("shop-login", "hash") == "" || !strings.Contains(c.Condition(), "generators[0].bcrypt: a password has more than 72 bytes") {
		t.Errorf("want a hash, got %s, %s", c.Names(), c.Condition())
	}
}

// A generation of a password is kept as long as an export has a hash of it.
func TestPasswordsOfExportedHashesAreKept(t *testing.T) {
	c := functiontest.NewControlPlane(t, strings.Replace(functiontest.RotatedPassword, "gracePeriod: 24h", "gracePeriod: 0s", 1)+`
- name: hash
  bcrypt: {secretExpression: "generated.admin.password + composite.spec.pepper", cost: 4}
secrets:
- name: server
  data: [{key: hash, value: generated.hash.hash}]
`)
	functiontest.Set(c.XR, "x", "spec", "pepper")
	c.Settle()
	functiontest.Set(c.XR, strings.Repeat("x", 72), "spec", "pepper") // the next hash cannot be made
	c.Wait(functiontest.Interval)
	c.Settle()
	c.Wants("no next hash", "shop-admin-1 shop-admin-2 shop-hash-1 shop-server", c.Condition())
	functiontest.Set(c.XR, "y", "spec", "pepper")
	c.Settle()
	c.Wants("the next hash", "shop-admin-2 shop-hash-2 shop-server", "Available")
}

// A salt is in no output, and a key that a keystore does not read makes no other generation.
func TestKeystoresReadTheirKeys(t *testing.T) {
	c := functiontest.NewControlPlane(t, `
generators:
- {name: ca, certificate: {isCA: true, subject: {commonName: ca}, duration: 876000h}}
- name: store
  jks: {secretExpression: "{'tls.crt': generated.ca['tls.crt'], 'tls.key': generated.ca['tls.key'], 'other': composite.spec.role}"}
secrets:
- name: store
  data: [{valueMap: generated.store}]
`)
	c.Settle()
	if data := c.Object("Secret", "shop-store").GetFields()["data"].GetStructValue().GetFields(); len(data) != 2 {
		t.Errorf("want two outputs, got %d", len(data))
	}
	if len(c.Object("Secret", "shop-store-1").GetFields()["data"].GetStructValue().GetFields()) != 3 {
		t.Error("the generation has no salt")
	}
	functiontest.Set(c.XR, "another", "spec", "role")
	c.Settle()
	c.Wants("another key", "shop-ca-1 shop-store shop-store-1", "Available")
}

// TestHashesFitInEachHistory changes the source at random times. Law: each stored Secret has a hash of its password.
func TestHashesFitInEachHistory(t *testing.T) {
	for seed := range proof.Count("SIM_HISTORIES", 4, 24) {
		rng := rand.New(rand.NewPCG(seed, 3))
		input := hashOfSource
		if seed%2 == 0 {
			input = strings.Replace(functiontest.RotatedPassword, "Periodic\n  refreshInterval: 720h", "OnChange\n  keepersExpression: composite.spec.passwordVersion", 1) + hashOfAdmin
		}
		c := functiontest.NewControlPlane(t, input)
		for n := range 40 {
			switch rng.IntN(6) {
			case 0:
				give(t, c, []string{"", "one", "two", "three"}[rng.IntN(4)])
				functiontest.Set(c.XR, fmt.Sprint(rng.IntN(3)), "spec", "passwordVersion")
			case 1:
				c.Wait(time.Duration(rng.IntN(5000)) * time.Second)
			case 2:
				c.Annotate("export.fn.crossplane.io/rotate", fmt.Sprintf("hash=%d", n))
			default:
				c.Reconcile()
			}
			fits(t, c, fmt.Sprintf("seed %d, event %d", seed, n))
		}
		give(t, c, "last")
		c.Wait(time.Minute) // a pending generation may be outdated
		settle(t, c, fmt.Sprintf("seed %d, at the end", seed))
		if c.Condition() != "Available" {
			t.Fatalf("seed %d: %s", seed, c.Condition())
		}
	}
}

// For a list, each export with the hash of an item needs the password of that item, and of no other one.
func TestHashesOfItems(t *testing.T) {
	c := functiontest.NewControlPlane(t, `
generators:
- {name: user, forEachExpression: "['ann', 'bob']", keyExpression: item, password: {length: 32}, refreshPolicy: OnChange, keepersExpression: composite.spec.passwordVersion}
- {name: hash, forEachExpression: "['ann', 'bob']", keyExpression: item, bcrypt: {secretExpression: "generated.user[key].password", cost: 4}}
secrets:
- name: login
  forEachExpression: "['ann', 'bob']"
  keyExpression: item
  data: [{key: hash, value: "generated.hash[key].hash"}]
- name: first
  data: [{key: hash, value: generated.hash.ann.hash}]
`)
	c.Settle()
	for name, want := range map[string]string{"shop-login-ann": "hash/ann user/ann", "shop-login-bob": "hash/bob user/bob", "shop-first": "hash/ann user/ann"} {
		records := functiontest.RecordOf(c.Object("Secret", name))
		if got := strings.Join(slices.Sorted(maps.Keys(records)), " "); got != want {
			t.Errorf("%s: want records of %s, got %s", name, want, got)
		}
	}
	functiontest.Set(c.XR, "2", "spec", "passwordVersion")
	c.Settle()
	if c.Condition() != "Available" || c.Object("Secret", "shop-hash-bob-2") == nil {
		t.Errorf("%s, %s", c.Names(), c.Condition())
	}
}
