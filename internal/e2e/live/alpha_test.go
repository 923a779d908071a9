package live_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestAlphaFeatures plays a rotation and an export with ttl: 0s while Crossplane keeps the responses of functions on
// its disk. It keeps the others, but no response with a value of the export with ttl: 0s.
func TestAlphaFeatures(t *testing.T) {
	restartCrossplane(t, "--enable-function-response-cache")

	// The TTL of an earlier step does not matter.
	if err := installComposer(t.Context(), quiet, state("function-compose"), "--as=function-compose",
		"--ttl=0s"); err != nil {
		t.Fatal(err)
	}

	const withTTL, withoutTTL = "alpha-rotate", "alpha-without-ttl"

	t.Run("scenarios", func(t *testing.T) {
		for name, play := range map[string]func(s scenario){withTTL: rotatesByPassword, withoutTTL: exportsWithoutTTL} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				play(scenario{ControlPlane: plane, T: t, function: functionName, composer: quiet, ns: name})
			})
		}
	})

	kept, absent := secretValues(withTTL), secretValues(withoutTTL)
	found := 0

	err := filepath.WalkDir(state("xfn-cache"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}

		b, err := os.ReadFile(path)
		if leaks(b, absent) > 0 {
			t.Errorf("%s has a value of an export with ttl: 0s", path)
		}

		found += min(1, leaks(b, kept))
		if errors.Is(err, fs.ErrNotExist) { // it has expired
			return nil
		}

		return err
	})
	if err != nil || found == 0 || len(absent) == 0 {
		t.Errorf("%d responses have values, want some: the page says so, or the search finds nothing: %v", found, err)
	}
}

// quiet is a function that composes resources, and whose responses have no TTL.
const quiet = "function-compose-quiet"

// exportsWithoutTTL exports connection details with ttl: 0s.
func exportsWithoutTTL(s scenario) {
	given := login()

	s.open("App", `
ttl: 0s
secrets: [{name: connection, from: db, data: [{key: password, value: secret.password}]}]`, database)
	s.applyApp()
	s.provide("app-db", "app-db-details", given, readyStatus(""))
	s.becomes("Secret", "app-connection", map[string]string{"password": given["password"]})
	s.says(s.app(), "Available")
}
