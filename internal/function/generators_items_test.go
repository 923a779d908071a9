package function_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/function/functiontest"
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
	got := fmt.Sprint(functiontest.Meta(o, "labels", functiontest.Prefix+"generator"), " ", functiontest.Meta(o, "labels", functiontest.Prefix+"generator-key"), " ",
		functiontest.Meta(o, "annotations", functiontest.ResourceNameAnnotation), " ", functiontest.Meta(o, "annotations", functiontest.Prefix+"generator"))
	if diff := cmp.Diff("users alice generated/users/alice/1 users/alice", got); diff != "" {
		t.Errorf("the names of a generation: -want, +got:\n%s", diff)
	}
	fmt.Println(c.State())

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

	setUsers(c)
	c.Settle()
	c.Wait(time.Hour)
	c.Settle()
	c.Wants("waits", "shop-user-alice shop-user-carol shop-users-alice-2 shop-users-carol-1", "x")
	setUsers(c, "carol", "dora", "alice:2", "carol", "Eve")
	c.Settle()
	c.Wants("bad", "shop-user-alice shop-user-carol shop-user-dora shop-users-alice-2 shop-users-carol-1 shop-users-dora-1", "x")
	fmt.Println(c.State())
}
