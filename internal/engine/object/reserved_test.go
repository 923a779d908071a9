package object

import "testing"

func TestIsReserved(t *testing.T) {
	for key, want := range map[string]bool{
		"crossplane.io/composite": true, "crossplane.io/composition-resource-name": true, StatePrefix + "x": true,
		"example.org/team": false, "": false,
	} {
		if got := IsReserved(key); got != want {
			t.Errorf("IsReserved(%q): want %t, got %t", key, want, got)
		}
	}
}
