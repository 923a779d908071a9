package function_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// itemsInput has an export with a list. The composite has the list.
const itemsInput = `
configMaps:
- name: users
  forEachExpression: composite.spec.users
  keyExpression: item.name
  data: [{key: role, value: item.role}]
`

// itemHistories and itemEvents are how many histories of a list there are, and how long they are.
const itemHistories, itemEvents = 60, 25

// An itemsVersion is a version of the composite: its list, and the objects that it lists.
type itemsVersion struct {
	users  []any // nil if there is no list
	listed []string
}

// keys returns the key of each item with a good key, with its role. It is not ok while a key is unknown.
func (v itemsVersion) keys() (roles map[string]string, ok bool) {
	roles, ok = map[string]string{}, v.users != nil
	times := map[string]int{}
	for _, u := range v.users {
		name, _ := u.(map[string]any)["name"].(string)
		times[name]++
		roles[name], _ = u.(map[string]any)["role"].(string)
	}
	for name, n := range times {
		if n > 1 || name == "" || name == "Illegal" {
			delete(roles, name)
			ok = false
		}
	}
	return roles, ok
}

// itemsHistory is one history of a list.
type itemsHistory struct {
	*functiontest.ControlPlane
	rng      *rand.Rand
	input    *structpb.Struct
	versions []itemsVersion
	seen     int // Crossplane never reads an older version again
	stops    bool
}

// The laws: whatever happens to a list, and wherever Crossplane stops, an object is deleted only if all keys of the list
// that Crossplane read are known, and no item has the object's key. In the end, each item with a good key has its
// object, and there are no others once all keys are known.
func TestItemsSimulation(t *testing.T) {
	for seed := range proof.Count("SIM_HISTORIES", itemHistories/4, itemHistories) {
		h := &itemsHistory{ControlPlane: functiontest.NewControlPlane(t, itemsInput), rng: rand.New(rand.NewPCG(seed, 7))}
		h.input = functiontest.Parse(t, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+itemsInput)
		h.versions, h.stops, h.Rand, h.Foreground = []itemsVersion{{}}, true, h.rng, true
		for range itemEvents {
			if h.rng.IntN(2) == 0 {
				h.edit()
			}
			if h.CatchUp("ConfigMap"); h.rng.IntN(4) == 0 {
				h.BeLate("ConfigMap")
			}
			h.reconcile(seed)
		}
		h.stops, h.seen = false, len(h.versions)-1
		h.CatchUp("ConfigMap")
		for range 3 {
			h.reconcile(seed)
		}
		h.checkEnd(seed)
		if t.Failed() {
			return
		}
	}
}

// edit the list: remove it, or add, remove, change, duplicate, break or reorder items.
func (h *itemsHistory) edit() {
	v := h.versions[len(h.versions)-1]
	users := slices.Clone(v.users)
	user := func() any {
		return map[string]any{"name": []string{"a", "b", "c", "d", "e"}[h.rng.IntN(5)], "role": fmt.Sprint("role-", len(h.versions))}
	}
	switch how := h.rng.IntN(12); {
	case how == 0:
		users = nil
	case how == 1:
		users = []any{}
	case how == 2:
		users = append(users, map[string]any{"name": "Illegal"})
	case how == 3:
		users = append(users, map[string]any{"role": "none"})
	case how < 8 || len(users) == 0:
		users = append(users, user())
	case how < 10:
		i := h.rng.IntN(len(users))
		users = slices.Delete(users, i, i+1)
	case how == 10:
		users[h.rng.IntN(len(users))] = user()
	}
	h.rng.Shuffle(len(users), func(i, j int) { users[i], users[j] = users[j], users[i] })
	h.versions = append(h.versions, itemsVersion{users, v.listed})
}

// reconcile once as Crossplane does, with a composite that may be old, and with a stop anywhere.
func (h *itemsHistory) reconcile(seed uint64) {
	h.seen += h.rng.IntN(len(h.versions) - h.seen)
	v := h.versions[h.seen]
	xr := proto.CloneOf(h.XR)
	functiontest.List(xr, v.listed)
	if v.users != nil {
		list, err := structpb.NewList(v.users)
		if err != nil {
			h.T.Fatal(err)
		}
		xr.Fields["spec"].GetStructValue().Fields["users"] = structpb.NewListValue(list)
	}
	req, _ := h.Observe(h.input, xr, v.listed)
	observed := proto.CloneOf(req).GetObserved().GetResources()
	h.Response = h.Run(req)
	if text := functiontest.FatalOf(h.Response); text != "" {
		h.T.Fatalf("seed %d: %s", seed, text)
	}
	latest := &h.versions[len(h.versions)-1]
	h.Listed = latest.listed
	h.Before = func(w functiontest.Write) error { return h.before(seed, v, w) }
	if isLost(h.T, h.Compose(h.Response, observed)) && h.rng.IntN(2) == 0 {
		h.Restart()
	}
	latest.listed = h.Listed
	if !h.stops || h.rng.IntN(2) == 0 {
		h.Collect()
	}
}

var errStopped = errors.New("stopped")

// isLost reports whether a reconcile ended early, as it may in a simulation. The test fails if it has another error.
func isLost(t testing.TB, err error) bool {
	t.Helper()
	if err == nil {
		return false
	}
	if !errors.Is(err, errStopped) && !errors.Is(err, functiontest.ErrModified) {
		t.Fatalf("cannot reconcile: %v", err)
	}
	return true
}

// before checks what is deleted, and reports whether Crossplane stops here.
func (h *itemsHistory) before(seed uint64, v itemsVersion, w functiontest.Write) error {
	roles, known := v.keys()
	if _, ok := roles[strings.TrimPrefix(w.Name, "users/")]; w.Verb == functiontest.Deletes && (ok || !known) {
		h.T.Fatalf("seed %d: %s is deleted, and the list is %v", seed, w.Name, v.users)
	}
	if h.stops && h.rng.IntN(8) == 0 {
		return errStopped
	}
	return nil
}

func (h *itemsHistory) checkEnd(seed uint64) {
	v := h.versions[len(h.versions)-1]
	roles, known := v.keys()
	for key, role := range roles {
		o := h.Stored["v1|ConfigMap|team-a|shop-users-"+key]
		if got := o.GetFields()["data"].GetStructValue().GetFields()["role"].GetStringValue(); got != role {
			h.T.Errorf("seed %d: in the end, want the role %q of the item %s, got %q: the list is %v\n%s", seed, role, key, got, v.users, h.Condition())
		}
	}
	// Crossplane itself forgets an object if it reads an older composite without the object and without its item.
	if known && len(v.listed) != len(roles) {
		h.T.Errorf("seed %d: in the end, want the objects of %v, got %s", seed, v.users, v.listed)
	}
}
