package check

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A repository of the benchmark: many Compositions, and a package of CRDs.
const (
	benchCompositions = 500
	benchCRDs         = 100
	benchBases        = 6
)

// benchComposition is a Composition as people have them: patch-and-transform with six
// bases, then three exports with fifteen expressions.
func benchComposition(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata:\n  name: app-%d\n  "+
		"labels:\n    example.org/team: payments\nspec:\n"+
		"  compositeTypeRef:\n    apiVersion: example.org/v1\n    kind: App\n  mode: Pipeline\n  pipeline:\n  - "+
		"step: compose\n    functionRef:\n      name: function-patch-and-transform\n"+
		"    input:\n      apiVersion: pt.fn.crossplane.io/v1beta1\n      kind: Resources\n      resources:\n", n)
	for i := range benchBases {
		fmt.Fprintf(&b, "      - name: base-%d\n        base:\n          apiVersion: bench.example.org/v1beta1\n     "+
			"     kind: Kind%d\n          spec:\n            forProvider:\n"+
			"              region: eu-west-1\n              size: 20\n              tags:\n                team: "+
			"payments\n                stage: production\n            providerConfigRef:\n              name: "+
			"default\n        patches:\n", i, (n+i)%benchCRDs)
		for j := range 4 {
			fmt.Fprintf(&b, "        - type: FromCompositeFieldPath\n          fromFieldPath: "+
				"spec.parameters.field%d\n          toFieldPath: spec.forProvider.field%d\n          transforms:\n"+
				"          - type: string\n            string:\n              type: Format\n              fmt: "+
				"\"%%s-%d\"\n", j, j, j)
		}
	}
	fmt.Fprint(&b, "  - step: export\n    functionRef:\n      name: function-export\n    input:\n      apiVersion: "+
		"export.fn.crossplane.io/v1beta1\n      kind: Exports\n"+
		"      variables:\n      - name: host\n        value: resources['base-1'].status.atProvider.field1\n")
	export := func(list, name string, from int, values ...string) {
		fmt.Fprintf(&b, "      %s:\n", list)
		for i, v := range values {
			if i%5 == 0 {
				fmt.Fprintf(&b, "      - name: %s-%d\n        from: base-%d\n        data:\n", name, i, from+i/5)
			}
			fmt.Fprintf(&b, "        - key: key-%d\n          value: %s\n", i, v)
		}
	}
	export("secrets", "connection", 0,
		"secret.username", "secret.password", "\"'postgres://%s:%s@%s:5432/app'.format([secret.username, "+
			"url.queryEscape(secret.password), variables.host])\"",
		"resource.status.atProvider.field2", "resource.metadata.name + '.' + resource.status.atProvider.field3",
		"secret.username", "secret.password", "secret.?token.orValue('none')", "\"resource.spec.forProvider.field4 "+
			"== 'a' ? 'one' : 'two'\"", "base64.encode(bytes(secret.password))")
	export("configMaps", "settings", 2,
		"variables.host", "resource.status.atProvider.field5", "resources['base-3'].metadata.name",
		"composite.metadata.name",
		">-\n            resource.spec.forProvider.field6 + '/' +\n            resource.spec.forProvider.field7")
	return b.String()
}

// benchCRD is as large as one of a provider, which says everything twice.
func benchCRD(n int) string {
	var fields strings.Builder
	for i := range 60 {
		fmt.Fprintf(&fields, "field%d:\n  description: |-\n    The field number %d of a resource, which is what it "+
			"is for. It is described in two\n    lines, as most of them are.\n  type: string\n", i, i)
	}
	all := fields.String()
	return fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: "+
		"kind%ds.bench.example.org\nspec:\n  group: bench.example.org\n  names:\n    kind: Kind%d\n    plural: "+
		"kind%ds\n"+
		"  scope: Namespaced\n  versions:\n  - name: v1beta1\n    served: true\n    storage: true\n    schema:\n     "+
		" openAPIV3Schema:\n        type: object\n        properties:\n"+
		"          spec:\n            type: object\n            properties:\n              forProvider:\n            "+
		"    type: object\n                properties:\n                  %s"+
		"\n              initProvider:\n                type: object\n                properties:\n                  "+
		"%s"+
		"\n          status:\n            type: object\n            properties:\n              atProvider:\n         "+
		"       type: object\n                properties:\n                  %s\n",
		n, n, n, functiontest.Indented(all, 18), functiontest.Indented(all, 18), functiontest.Indented(all, 18))
}

// benchFolder has the Compositions, and beside it is the package.
func benchFolder(b *testing.B) (folder, schemas string) {
	b.Helper()
	dir := b.TempDir()
	folder, schemas = filepath.Join(dir, "apis"), filepath.Join(dir, "package.yaml")
	if err := os.Mkdir(folder, 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range benchCompositions {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("composition-%03d.yaml", i)),
			[]byte(benchComposition(i)), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	crds := make([]string, benchCRDs)
	for i := range crds {
		crds[i] = benchCRD(i)
	}
	if err := os.WriteFile(schemas, []byte(strings.Join(crds, "---\n")), 0o600); err != nil {
		b.Fatal(err)
	}
	return folder, schemas
}

// BenchmarkCheck checks a repository, on one core and on all cores, and compares it with the
// minimum: reading its YAML and compiling its inputs.
func BenchmarkCheck(b *testing.B) {
	folder, schemas := benchFolder(b)
	paths, err := terminal.Disk(nil).Find([]string{folder}, files.Below)
	if err != nil {
		b.Fatal(err)
	}
	check := func(schemas ...string) func(b *testing.B) {
		return func(b *testing.B) {
			b.Helper()
			c := &Command{Paths: []string{folder}, Output: "text", Schema: schemas}
			if err := c.RunWith(b.Context(), terminal.Disk(nil), io.Discard, io.Discard); err != nil {
				result, _ := c.check(b.Context(), terminal.Disk(nil))
				b.Fatalf("%v: %+v", err, result)
			}
		}
	}
	inputs := benchInputs(b, paths)
	env, err := advice.NewEnvironment()
	if err != nil {
		b.Fatal(err)
	}
	does := []struct {
		name string
		do   func(b *testing.B)
	}{
		{"Check", check()},
		{"CheckTyped", check(schemas)},
		{"ParseAlone", func(b *testing.B) {
			b.Helper()
			files.OnAllCores(paths, func(name string) any {
				text, err := os.ReadFile(name)
				var v any
				if err != nil || yaml.Unmarshal(text, &v) != nil {
					b.Errorf("cannot read %s", name)
				}
				return v
			}, func(int) {})
		}},
		{"CompileAlone", func(b *testing.B) {
			b.Helper()
			files.OnAllCores(inputs, func(input *structpb.Struct) any {
				p, faults := plan.Compile(b.Context(), env, input)
				if p == nil {
					b.Errorf("does not compile: %v", faults)
				}
				return p
			}, func(int) {})
		}},
	}
	for _, cores := range []int{1, runtime.NumCPU()} {
		for _, d := range does {
			b.Run(fmt.Sprintf("%s/cores=%d", d.name, cores), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
				b.ReportAllocs()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				cpu := cpuTime(b)
				for b.Loop() {
					d.do(b)
				}
				runtime.ReadMemStats(&after)
				n := float64(b.N * len(paths))
				// which tells more on a machine that others use
				b.ReportMetric(float64(cpuTime(b)-cpu)/n, "cpu-ns/file")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/file")
				b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "allocs/file")
			})
		}
	}
}

// cpuTime of this process so far, in nanoseconds.
func cpuTime(b *testing.B) int64 {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// benchInputs are those in the files, as Crossplane hands them over.
func benchInputs(b *testing.B, paths []string) []*structpb.Struct {
	b.Helper()
	in, err := terminal.Disk(nil).Load(paths, files.Flags{})
	if err != nil || len(in.Unread) > 0 {
		b.Fatalf("%v, %v", in, err)
	}
	out := make([]*structpb.Struct, 0, len(in.Steps))
	for _, step := range in.Steps {
		input, err := structpb.NewStruct(step.Input)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, input)
	}
	return out
}
