package diff

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestUntil continues sixteen composites whose passwords were created in the same minute. The window that the command
// names spreads their rotations.
func TestUntil(t *testing.T) {
	const rotating = `
generators:
- {name: admin, password: {}, refreshPolicy: Periodic, refreshInterval: 240h, gracePeriod: 24h}
- {name: tls, certificate: {subject: {commonName: a}, duration: 480h}}
secrets:
- {name: url, data: [{key: password, value: generated.admin.password},
    {key: tls.crt, value: "generated.tls['tls.crt']"}]}
`
	var objects []string
	for i := range 16 {
		uid := strings.NewReplacer("xr-team-a-app", fmt.Sprintf("%x-xr", i), "db-team-a-app", "db", "secret-team-a-app",
			"secret")
		objects = append(objects, uid.Replace(instance("team-a", fmt.Sprintf("app%d", i))))
	}
	dump := cluster(t, composed(rotating), objects...)
	c := Command{Output: "text", Until: 450 * time.Hour}
	got, _ := run(t, c, composed(rotating), dump)
	for _, want := range []string{
		"\nUntil 2026-01-21T18:00:00Z:\n  2026-01-11  generator admin of postgresql rotates: 16 composites\n" +
			"  2026-01-12  a grace period of generator admin of postgresql ends: 16 composites\n" +
			"  2026-01-21  a certificate in the key tls.crt of postgresql expires: 16 composites\n" +
			"  2026-01-21  generator admin of postgresql rotates: 16 composites\n!",
		"\n! 2026-01-11T00:00:00Z: 16 rotations of generator admin of postgresql in one minute: to spread them over 16 " +
			"hours, set rotationWindow: " + spreading + "\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the output has no %q:\n%s", want, got)
		}
	}
	c.Output = "json"
	spread, _ := run(t, c, composed(strings.Replace(rotating, "gracePeriod: 24h", "gracePeriod: 24h, rotationWindow: "+
		spreading, 1)), dump)
	var out struct {
		Later struct {
			Events []struct{ At, Effect string }
			Bursts []any
		}
	}
	if err := json.Unmarshal([]byte(spread), &out); err != nil {
		t.Fatal(err)
	}
	hours := map[string]bool{}
	for _, e := range out.Later.Events {
		if e.Effect == "rotates" {
			hours[e.At] = true
		}
	}
	if len(out.Later.Bursts) > 0 || len(hours) < 16 {
		t.Errorf("there are %d bursts, and rotations at %d times: %s", len(out.Later.Bursts), len(hours), spread)
	}
	if strings.Contains(got+spread, marked) {
		t.Error("the output has a value of a Secret")
	}
}
