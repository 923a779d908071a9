package world_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// rotationsOf returns the minutes in which objects appear or disappear, if Crossplane calls at the TTL of each
// response.
func rotationsOf(t *testing.T, ttl string) (out []string, calls int) {
	input := strings.NewReplacer("720h", "2h", "24h", "30m").Replace(functiontest.RotatedPassword)
	c := functiontest.NewControlPlane(t, "ttl: "+ttl+"\n"+input+functiontest.ConnectionOfAdmin)
	began, names := c.Now, ""
	c.Reconcile() // which sets the steps
	for c.Now.Before(began.Add(8 * time.Hour)) {
		if err := c.World.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if now := c.Names(); now != names {
			names = now
			out = append(out, fmt.Sprint(c.Now.Sub(began).Round(time.Minute), " ", now))
		}
		due := c.Due()
		if !due.After(c.Now) {
			t.Fatal("the function does not ask for a call")
		}
		c.Now = due
	}
	return out, c.Calls
}

// TestPollsChangeNothing shows that the calls between the times for which a function asks are without an effect, so
// that a test can leave them out.
func TestPollsChangeNothing(t *testing.T) {
	polled, many := rotationsOf(t, "60s")
	asked, few := rotationsOf(t, "0s")
	if diff := cmp.Diff(polled, asked); diff != "" || len(asked) < 6 {
		t.Errorf("-polled, +asked for:\n%s", diff)
	}
	if few*3 > many {
		t.Errorf("want far fewer calls, got %d instead of %d", few, many)
	}
}
