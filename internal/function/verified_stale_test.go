package function_test

import "testing"

// A composite may be read as it was before it listed the pending generation, twice, while the Secret for the provider is
// not written. The generation in use already has the number of the pending one. Nothing else names it. It keeps its
// place, and no other one is created after it.
func TestStaleCompositeWhileAGenerationIsVerified(t *testing.T) {
	d := newDatabase(t, verifiedPassword)
	const first, second, prefix = "shop-admin-1", "shop-admin-2", "v1|Secret|team-a|"
	listed := []string{prefix + "shop-app", prefix + "shop-setter", prefix + first}
	d.accept()
	d.Annotate(rotateKey, "admin=1")
	setter := d.Stored[prefix+"shop-setter"]
	for range 3 { // the first one creates the generation, and the second one stores its number
		d.ReconcileStale(listed...)
		d.Stored[prefix+"shop-setter"] = setter // it fails before it applies the setter
	}
	d.Settle()
	d.wants("it is pending", "shop-admin-1 shop-admin-2 shop-app shop-setter", second, first, `Waiting generator "admin": generation 2 is not ready`)
	d.accept()
	d.wants("it is in use", "shop-admin-1 shop-admin-2 shop-app shop-setter", second, second, "Available")
}
