package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
)

func TestSBOM(t *testing.T) {
	b := builtPackages(t)
	write := func() []string {
		t.Helper()
		dir := t.TempDir()
		for _, arch := range architectures {
			if err := os.Symlink(packageFile(b.dir, arch), packageFile(dir, arch)); err != nil {
				t.Fatal(err)
			}
		}
		var stdout bytes.Buffer
		c := &sbomCmd{output: output{Output: dir}}
		if err := c.Run(t.Context(), &workspace{root: b.root, stdout: &stdout, stderr: io.Discard}); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, path := range strings.Fields(stdout.String()) {
			content, err := os.ReadFile(path) //nolint:gosec // It was just written.
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(content))
		}
		return out
	}
	got := write()
	if diff := cmp.Diff(got, write()); diff != "" || len(got) != len(architectures) {
		t.Fatalf("want the same file for each architecture every time, got %d: -first, +second:\n%s", len(got), diff)
	}

	mod, err := os.ReadFile(filepath.Join(b.root, "go.mod")) //nolint:gosec // A file of this repository.
	if err != nil {
		t.Fatal(err)
	}
	cel := regexp.MustCompile(`cel\.dev/cel-go (\S+)`).FindSubmatch(mod)
	if cel == nil {
		t.Fatal("cannot find cel-go in the product's go.mod")
	}
	for i, arch := range architectures {
		bom := &cyclonedx.BOM{}
		if err := cyclonedx.NewBOMDecoder(strings.NewReader(got[i]),
			cyclonedx.BOMFileFormatJSON).Decode(bom); err != nil {
			t.Fatal(err)
		}

		self := bom.Metadata.Component
		if diff := cmp.Diff([]string{"github.com/crossplane-contrib/function-export", testVersion},
			[]string{self.Name, self.Version}); diff != "" {
			t.Errorf("%s: what it is about: -want, +got:\n%s", arch, diff)
		}
		if !strings.HasSuffix(self.Description, "linux/"+arch) {
			t.Errorf("%s: want the architecture in the description, got %q", arch, self.Description)
		}
		versions := map[string]string{}
		for _, c := range *bom.Components {
			versions[c.Name] = c.Version
		}
		want := map[string]string{"cel.dev/cel-go": string(cel[1]), "std": strings.TrimPrefix(runtime.Version(), "go")}
		for name, version := range want {
			if versions[name] != version {
				t.Errorf("%s: want %s %s, got %q", arch, name, version, versions[name])
			}
		}
		if n := len(*(*bom.Dependencies)[0].Dependencies); n != len(*bom.Components) || n < 10 {
			t.Errorf("%s: want every component to be a dependency, got %d of %d", arch, n, len(*bom.Components))
		}
		// Modules that only a release needs are not in the product.
		for name := range versions {
			if strings.Contains(name, "go-containerregistry") || strings.Contains(name, "cyclonedx") {
				t.Errorf("%s: %s is in the product", arch, name)
			}
		}
	}
}
