package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A workflow, as far as a mistake in it would go unnoticed until a release.
type workflow struct {
	Permissions *map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Uses        string             `json:"uses"`
		Permissions *map[string]string `json:"permissions"`
		Needs       []string           `json:"needs"`
		Steps       []struct {
			Uses string `json:"uses"`
			Run  string `json:"run"`
		} `json:"steps"`
	} `json:"jobs"`
}

// Workflows cannot run here. What can be said of them without that: they parse,
// each action is pinned by its digest, no job has the rights that a repository gives by
// default, and nothing from outside is pasted into a script.
func TestWorkflows(t *testing.T) {
	root, err := repository(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*"))
	if err != nil || len(paths) != 3 {
		t.Fatalf("want ci.yml, fuzz.yml, and release.yml, got %v, %v", paths, err)
	}
	pinned := regexp.MustCompile(`@[0-9a-f]{40}$`)
	named := regexp.MustCompile(`(?m)uses: (\S+@[0-9a-f]{40})(?: # v\d+\.\d+\.\d+)?$`)
	digests := map[string]string{}
	scripts := ""
	for _, path := range paths {
		file := filepath.Base(path)
		b, err := os.ReadFile(path) //nolint:gosec // A file of this repository.
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(b), -1) {
			if !strings.Contains(m[0], " # v") {
				t.Errorf("%s: want the version beside the digest: %s", file, m[0])
			}
			action, digest, _ := strings.Cut(m[1], "@")
			if first, ok := digests[action]; ok && first != digest {
				t.Errorf("%s: %s has two digests", file, action)
			}
			digests[action] = digest
		}
		var w workflow
		if err := yaml.Unmarshal(b, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if w.Permissions == nil || len(w.Jobs) == 0 {
			t.Errorf("%s: want permissions and jobs", file)
		}
		for name, job := range w.Jobs {
			if file == "release.yml" && job.Permissions == nil {
				t.Errorf("%s: job %s does not say its permissions", file, name)
			}
			for _, needed := range job.Needs {
				if _, ok := w.Jobs[needed]; !ok {
					t.Errorf("%s: job %s needs %s, which is none", file, name, needed)
				}
			}
			if job.Uses != "" {
				if _, err := os.Stat(filepath.Join(root, job.Uses)); err != nil {
					t.Errorf("%s: job %s: %v", file, name, err)
				}
			}
			for _, step := range job.Steps {
				if step.Uses != "" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s: job %s: %s is not pinned by a digest", file, name, step.Uses)
				}
				if strings.Contains(step.Run, "${{") {
					t.Errorf("%s: job %s: a script takes its values from env, for a tag can be named anything:\n%s",
						file, name, step.Run)
				}
				scripts += step.Run + "\n"
			}
		}
	}
	for _, want := range []string{
		"format=(--new-bundle-format=false --use-signing-config=false)\n", // Crossplane finds only this format.
		`cosign sign --yes --recursive "${format[@]}" `, `cosign attest --yes --type cyclonedx "${format[@]}" `,
		".ci/run", "go -C internal/release run . build ", "go -C internal/release run . push ",
		"go -C internal/release run . sbom",
		"_output/*.xpkg _output/function-export_* _output/" + checksums + " _output/*.cdx.json\n",
	} {
		if !strings.Contains(scripts, want) {
			t.Errorf("no workflow runs %s", want)
		}
	}
}
