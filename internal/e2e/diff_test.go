package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiffRecomputes runs diff with the real crossplane composition render on the path: the name of a new resource,
// which a patch sets, is known only if the other steps are recomputed.
func TestDiffRecomputes(t *testing.T) {
	peers := PeersForTest(t)
	program, dir := buildFunction(t), t.TempDir()
	data := filepath.Join("..", "..", "fn", "testdata", "diff")

	mustRun(t, "cp", filepath.Join(data, "composition.yaml"), filepath.Join(data, "dump.yaml"), dir)
	edit(t, filepath.Join(dir, "composition.yaml"), "      - {name: db, ", `      - name: cache
        base: {apiVersion: db.example.org/v1, kind: Instance, spec: {size: 1}}
        patches:
        - fromFieldPath: metadata.name
          toFieldPath: metadata.name
          transforms: [{type: string, string: {type: Format, fmt: "%s-cache"}}]
      - {name: db, `)

	for name, content := range map[string]string{
		"crossplane": fmt.Sprintf("#!/bin/sh\nexec %s \"$@\" --crossplane-binary=%s\n", peers.CLI, peers.Core),
		"functions.yaml": functionManifest("render.crossplane.io/runtime: Development, " +
			"render.crossplane.io/runtime-development-target: " + servePatchAndTransform(t)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))

	args := []string{
		"diff", "--from", filepath.Join(dir, "dump.yaml"), filepath.Join(dir, "composition.yaml"), "--only", "creates",
	}
	for want, flags := range map[string][]string{
		"other steps are recomputed by crossplane composition render\nPostgreSQL team-a/orders\n" +
			"  + Instance orders-cache ": {"--functions", filepath.Join(dir, "functions.yaml")},
		"step resources differs from Composition postgresql, and is taken as composed now: " +
			"pass --functions to recompute it": nil,
	} {
		out, _ := run(t, program, append(args, flags...)...)
		if !strings.Contains(out.stdout, want) {
			t.Errorf("want %q, got:\n%s%s", want, out.stdout, out.stderr)
		}
	}
}
