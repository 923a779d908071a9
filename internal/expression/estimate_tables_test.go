package expression

import "testing"

// Each function that is looked at before it runs has an estimate of the look, and no other
// has one: a new check without an estimate would be a call for nothing.
func TestLooksAreTheChecks(t *testing.T) {
	for name := range checks {
		if looks[name] == nil {
			t.Errorf("%s is checked, and has no estimate", name)
		}
	}
	for name := range looks {
		if checks[name] == nil {
			t.Errorf("%s is estimated, and is not checked", name)
		}
	}
}
