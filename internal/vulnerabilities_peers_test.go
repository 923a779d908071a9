//go:build peers

package internal

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The scanner finds a planted vulnerability: in a database of testdata, each server of gRPC has one. The test takes
// about a minute of CPU.
func TestVulnerabilitiesAreFound(t *testing.T) {
	database, err := filepath.Abs(filepath.Join("testdata", "vulnerabilities"))
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(t.Context(), "../.ci/vulnerabilities")
	cmd.Env = append(cmd.Environ(), "VULNERABILITIES=file://"+database)

	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "server.") {
		t.Errorf("want exit code 3 and the call of our server, got %v\n%s", err, out)
	}
}
