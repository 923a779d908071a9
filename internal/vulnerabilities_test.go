package internal

import (
	"os/exec"
	"strings"
	"testing"
)

// A scan that did not happen says so.
func TestVulnerabilitiesAreScannedOrNot(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "../.ci/vulnerabilities")
	cmd.Env = append(cmd.Environ(), "VULNERABILITIES=file://"+t.TempDir())

	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "NOT SCANNED") {
		t.Errorf("want to be told that nothing was scanned, got %v\n%s", err, out)
	}
}
