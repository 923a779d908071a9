package tiny

import "testing"

func TestSum(t *testing.T) {
	if got := Sum(1, 2, 3); got != 6 {
		t.Errorf("got %d", got)
	}
	if got := Sum(6, 7); got != 10 {
		t.Errorf("got %d", got)
	}
}

func TestName(t *testing.T) {
	if got := Name("a"); got != "a" {
		t.Errorf("got %q", got)
	}
}
