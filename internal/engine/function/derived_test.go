package function_test

import (
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

	"github.com/crossplane-contrib/function-export/internal/desk/world"
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
		c.Stored[key] = functiontest.Parse(t, "{apiVersion: v1, kind: Secret, "+
			"metadata: {name: given, namespace: team-a, uid: given}, data: {password: "+inBase64(password)+"}}")
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
	if again := c.Value("shop-login", "again"); again != "" && again != hash {
		t.Fatalf("%s: the optional key has another hash", when)
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

// The state of a generation contains no hash by which guesses of its source can be tested without its data.
func TestStateHasSaltedHashes(t *testing.T) {
	const other = "- name: other\n  bcrypt: {secretExpression: secrets.given.password, cost: 4}\nsecrets:\n- name"
	c := functiontest.NewControlPlane(t, strings.Replace(hashOfSource, "secrets:\n- name", other, 1))
	give(t, c, "one")
	settle(t, c, "with a source")
	hash := stateOf(objectOf(c, "Secret", "shop-hash-1"))["sourceHash"]
	if other := stateOf(objectOf(c, "Secret", "shop-other-1"))["sourceHash"]; hash == nil || hash == other {
		t.Errorf("two generations of one source have the hashes %q and %q of it", hash, other)
	}
	exported := credential.Outputs{"hash": sensitive.FromString(c.Value("shop-login", "hash"))}
	if hash == seal.SourceCode(exported, credential.Source{Text: sensitive.FromString("one")}) {
		t.Error("with the exported hash, guesses of the source can be tested fast")
	}
}

// TestHashesFitInEachHistory changes the source at random times. Law: each stored Secret has a hash of its password.
func TestHashesFitInEachHistory(t *testing.T) {
	for seed := range proof.Count("SIM_HISTORIES", 4, 24) {
		rng := rand.New(rand.NewPCG(seed, 3))
		input := hashOfSource
		if seed%2 == 0 {
			input = strings.Replace(functiontest.RotatedPassword, "Periodic\n  refreshInterval: 720h",
				"OnChange\n  keepersExpression: composite.spec.passwordVersion", 1) + hashOfAdmin
		}
		c := functiontest.NewControlPlane(t, input)
		for n := range 40 {
			switch rng.IntN(6) {
			case 0:
				give(t, c, []string{"", "one", "two", "three"}[rng.IntN(4)])
				world.Set(c.XR, fmt.Sprint(rng.IntN(3)), "spec", "passwordVersion")
			case 1:
				c.Now = c.Now.Add(time.Duration(rng.IntN(5000)) * time.Second)
			case 2:
				c.Annotate(rotateKey, fmt.Sprintf("hash=%d", n))
			default:
				c.Reconcile()
			}
			fits(t, c, fmt.Sprintf("seed %d, event %d", seed, n))
		}
		give(t, c, "last")
		c.Now = c.Now.Add(time.Minute) // a pending generation may be outdated
		settle(t, c, fmt.Sprintf("seed %d, at the end", seed))
		if c.Condition() != "Available" {
			t.Fatalf("seed %d: %s", seed, c.Condition())
		}
	}
}
