package function_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// itemPasswords is an input with one password, and one Secret, for each user.
const itemPasswords = `
generators:
- name: users
  forEachExpression: composite.spec.users
  keyExpression: item.name
  password: {length: 24}
  refreshPolicy: OnChange
  gracePeriod: 1h
  keepersExpression: item.?version.orValue(1)
secrets:
- name: user
  forEachExpression: composite.spec.users
  keyExpression: item.name
  data:
  - {key: password, value: "generated.users[key].password"}
  - {key: former, value: "previous.users[?key].?password", optional: true}
`

// setUsers sets the list of the composite: names, each with an optional version after a colon.
func setUsers(c *functiontest.ControlPlane, users ...string) {
	spec := c.XR.GetFields()["spec"].GetStructValue()
	var list []string
	for _, u := range users {
		name, version, ok := strings.Cut(u, ":")
		if !ok {
			version = "1"
		}
		list = append(list, fmt.Sprintf("{name: %q, version: %s}", name, version))
	}
	delete(spec.GetFields(), "users")
	if users != nil {
		spec.Fields["users"] = functiontest.Parse(c.T, "users: ["+strings.Join(list, ", ")+"]").GetFields()["users"]
	}
}

func TestGenerateForItems(t *testing.T) {
	c := functiontest.NewControlPlane(t, itemPasswords)
	setUsers(c, "bob", "alice")
	c.Settle()
	c.Wants("made", "shop-user-alice shop-user-bob shop-users-alice-1 shop-users-bob-1", "Available")
	alice, bob := c.Value("shop-user-alice", "password"), c.Value("shop-user-bob", "password")
	if alice == "" || alice == bob || alice != c.Value("shop-users-alice-1", "password") {
		t.Error("each user needs a password of their own")
	}
	o := c.Object("Secret", "shop-users-alice-1")
	got := fmt.Sprint(world.Meta(o, "labels", functiontest.Prefix+"generator"), " ", world.Meta(o, "labels", functiontest.Prefix+"generator-key"), " ",
		world.Meta(o, "annotations", world.ResourceNameAnnotation))
	if diff := cmp.Diff("users alice generated/users/alice/1", got); diff != "" {
		t.Errorf("the names of a generation: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"users/alice", "users/bob"}, slices.Sorted(maps.Keys(c.State()))); diff != "" {
		t.Errorf("the state of the generators: -want, +got:\n%s", diff)
	}

	setUsers(c, "alice", "bob")
	c.Settle()
	c.Wants("reordered", "shop-user-alice shop-user-bob shop-users-alice-1 shop-users-bob-1", "Available")

	setUsers(c, "alice:2", "bob", "carol")
	c.Settle()
	c.Wants("alice rotates, carol joins", "shop-user-alice shop-user-bob shop-user-carol shop-users-alice-1 shop-users-alice-2 shop-users-bob-1 shop-users-carol-1", "Available")
	if c.Value("shop-user-alice", "password") == alice || c.Value("shop-user-alice", "former") != alice || c.Value("shop-user-bob", "password") != bob {
		t.Error("only the password of alice changes")
	}

	setUsers(c, "alice:2", "carol")
	c.Settle()
	c.Wants("bob left, and is in the grace period", "shop-user-alice shop-user-carol shop-users-alice-1 shop-users-alice-2 shop-users-bob-1 shop-users-carol-1", "Available")
	c.Wait(time.Hour)
	c.Settle()
	c.Wants("after it", "shop-user-alice shop-user-carol shop-users-alice-2 shop-users-carol-1", "Available")

	const kept = "shop-user-alice shop-user-carol shop-users-alice-2 shop-users-carol-1"
	setUsers(c)
	c.Settle()
	c.Wait(24 * time.Hour)
	c.Settle()
	c.Wants("a list that is waited for does not shrink", kept, `Held generator "users" creates nothing for some items: it waits for composite.spec.users (correct it, set it in XDatabase shop, or write .?users.orValue([]) for an empty list); the generations for these keys are kept unchanged until all keys are known: alice, carol; Secret "user" is not composed for each item: it waits for composite.spec.users (correct it, set it in XDatabase shop, or write .?users.orValue([]) for an empty list); these composed resources are kept unchanged until all keys are known: user/alice, user/carol`)
	latest, _ := c.State()["users/alice"].(map[string]any)["latest"].(map[string]any)
	if latest["name"] != "shop-users-alice-2" {
		t.Errorf("a later step would leave out its resource: the state is %v", c.State())
	}
	setUsers(c, "carol", "dora", "alice:2", "carol")
	c.Settle()
	c.Wants("the others go on", "shop-user-alice shop-user-carol shop-user-dora shop-users-alice-2 shop-users-carol-1 shop-users-dora-1", `Held generator "users" creates nothing for some items: generators[0].keyExpression: returns "carol" for the items at index 0, 3: each item needs its own key; the generations for these keys are kept unchanged until all keys are known: carol; Secret "user" is not composed for each item: secrets[0].keyExpression: returns "carol" for the items at index 0, 3: each item needs its own key; these composed resources are kept unchanged until all keys are known: user/carol`)
	setUsers(c, "alice:2")
	c.Settle()
	c.Wait(time.Hour)
	c.Settle()
	c.Wants("and the list is good again", "shop-user-alice shop-users-alice-2", "Available")
}

// A new item is not the item that left: a later step must not refer to the credential of another user.
func TestGenerateForAnotherItem(t *testing.T) {
	c := functiontest.NewControlPlane(t, itemPasswords)
	setUsers(c, "alice")
	c.Settle()
	setUsers(c, "bob")
	c.Reconcile()
	if state, _ := c.State()["users/bob"].(map[string]any); state == nil || state["latest"] != nil {
		t.Errorf("the state is %v, want no latest generation of bob", c.State())
	}
	c.Settle()
	c.Annotate(rotateKey, "users=1")
	c.Settle()
	c.Wants("both are rotated by the name of the list", "shop-user-bob shop-users-alice-1 shop-users-bob-1 shop-users-bob-2", "Available")
}
