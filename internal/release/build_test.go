package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// maxSize is what a node has to download at most, in bytes. It may grow: knowingly.
const maxSize = 20 << 20

// Every build of a commit equals the published package. The second build is in another folder, with
// other settings and file times.
func TestBuildIsReproducible(t *testing.T) {
	first := builtPackages(t)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := copyRepository(first.root, elsewhere); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GOAMD64": "v3", "GOARM64": "v8.2", "CGO_ENABLED": "1", "GOFLAGS": "-tags=netgo", "TZ": "Asia/Tokyo",
		"LC_ALL": "C", "SOURCE_DATE_EPOCH": "1",
	} {
		t.Setenv(name, value)
	}
	second, err := build(elsewhere, filepath.Join(t.TempDir(), "again"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range products(first.dir) {
		name := filepath.Base(path)
		a, err := fileSum(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := fileSum(filepath.Join(second.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s: -first build, +second:\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(strings.ReplaceAll(first.stdout, first.dir, ""),
		strings.ReplaceAll(second.stdout, second.dir, "")); diff != "" {
		t.Errorf("printed: -first build, +second:\n%s", diff)
	}
}

// The program of each platform is one, and sha256sum accepts the checksums of all products.
func TestPrograms(t *testing.T) {
	b := builtPackages(t)
	formats := map[string]string{"linux": "\x7fELF", "darwin": "\xcf\xfa\xed\xfe", "windows": "MZ"}
	for _, p := range platforms {
		content, err := os.ReadFile(program(b.dir, p))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(content), formats[p.system]) {
			t.Errorf("%s/%s: want a program of this system, got %q", p.system, p.arch, content[:4])
		}
		if !bytes.Contains(content, []byte(testVersion)) {
			t.Errorf("%s/%s: want the version in the program", p.system, p.arch)
		}
	}
	for _, arch := range architectures {
		inPackage, err := os.ReadFile(program(b.dir, platform{"linux", arch}))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(inPackage, files(t, b.image(t, arch))["function"].content) {
			t.Errorf("want the program for linux/%s in the package", arch)
		}
	}
	check := command(t, "sha256sum", "--check", "--strict", checksums)
	check.Dir = b.dir
	out, err := check.CombinedOutput()
	if err != nil || strings.Count(string(out), ": OK\n") != len(products(b.dir)) {
		t.Errorf("want all products to match their checksums, got %v:\n%s", err, out)
	}
}

// Missing parts of a package are no error: a folder that is a symlink is skipped, and a package without the input's
// schema is valid.
func TestPackage(t *testing.T) {
	b := builtPackages(t)
	compositions := 0
	err := filepath.WalkDir(filepath.Join(b.root, "example"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		compositions += strings.Count("\n"+string(text), "\nkind: Composition\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range architectures {
		f := files(t, b.image(t, arch))

		want := []string{"CustomResourceDefinition exports.export.fn.crossplane.io", "Function function-export"}
		if diff := cmp.Diff(want, objects(t, f["package.yaml"].content)); diff != "" {
			t.Errorf("%s: objects of the package: -want, +got:\n%s", arch, diff)
		}

		got := 0
		for _, o := range objects(t, f[".up/examples.yaml"].content) {
			if strings.HasPrefix(o, "Composition ") {
				got++
			}
		}
		if diff := cmp.Diff(compositions, got); diff != "" || got == 0 {
			t.Errorf("%s: Compositions among the examples: -want, +got:\n%s", arch, diff)
		}
	}
}

// objects are kinds and names in a YAML stream, sorted.
func objects(t *testing.T, stream []byte) []string {
	t.Helper()
	var out []string
	for _, doc := range strings.Split("\n"+string(stream), "\n---") {
		var o struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		if o.Kind != "" {
			out = append(out, o.Kind+" "+o.Metadata.Name)
		}
	}
	slices.Sort(out)
	return out
}

// The image has the function and the files that the CLI adds, which are not executable.
func TestImage(t *testing.T) {
	b := builtPackages(t)
	for _, arch := range architectures {
		img := b.image(t, arch)
		c := config(t, img)
		type settings struct {
			OS, Arch, User         string
			Entrypoint, Cmd, Ports []string
			Source, Licences, Vers string
		}
		got := settings{
			OS: c.OS, Arch: c.Architecture, User: c.Config.User, Entrypoint: c.Config.Entrypoint, Cmd: c.Config.Cmd,
			Source: c.Config.Labels[labelSource], Licences: c.Config.Labels[labelLicenses],
			Vers: c.Config.Labels[labelVersion],
		}
		for p := range c.Config.ExposedPorts {
			got.Ports = append(got.Ports, p)
		}
		want := settings{
			OS: "linux", Arch: arch, User: "65532:65532", Entrypoint: []string{"/function"},
			Ports:  []string{"9443/tcp"},
			Source: "https://github.com/crossplane-contrib/function-export", Licences: "Apache-2.0", Vers: testVersion,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: settings of the image: -want, +got:\n%s", arch, diff)
		}
		if !regexp.MustCompile(`^[0-9a-f]{40}(-dirty)?$`).MatchString(c.Config.Labels[labelRevision]) {
			t.Errorf("%s: want a commit as the revision, got %q", arch, c.Config.Labels[labelRevision])
		}

		modes := map[string]fs.FileMode{}
		for name, f := range files(t, img) {
			modes[name] = f.header.FileInfo().Mode()
		}
		if diff := cmp.Diff(map[string]fs.FileMode{"function": 0o555, "package.yaml": 0o644,
			".up/examples.yaml": 0o644}, modes); diff != "" {
			t.Errorf("%s: files in the image: -want, +got:\n%s", arch, diff)
		}

		info, err := os.Stat(packageFile(b.dir, arch))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > maxSize {
			t.Errorf("%s: want at most %d bytes, got %d", arch, maxSize, info.Size())
		}
	}
}

// The function in the image runs, without other files if the test is allowed to change its root,
// and without privileges.
func TestFunctionRuns(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("needs linux/amd64")
	}
	f := files(t, builtPackages(t).image(t, "amd64"))["function"]
	dir := t.TempDir()
	path := filepath.Join(dir, "function")
	if err := os.WriteFile(path, f.content, f.header.FileInfo().Mode()); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"--help": "Serve the function to Crossplane", "--version": testVersion} {
		cmd := command(t, path, args)
		if os.Geteuid() == 0 {
			cmd.Path, cmd.Dir = "/function", "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("function %s: want %q, got %v:\n%s", args, want, err, out)
		}
	}
}
