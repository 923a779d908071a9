// Mutation makes many small mistakes in a package, one at a time, and reports those that no test notices. A mistake is
// called a mutant, and a test that notices it kills it.
//
//	go -C internal/mutation run . generations
//
// A mutant replaces a comparison by its neighbor, a condition by true or false, a result by its zero value, an operator
// by another one, a number by the next one, or a text by an empty one. Or it removes a statement, the rounds of a loop,
// or a case of a switch. All mutants of a package are compiled into one test binary, and an environment variable
// switches one of them on. So trying a mutant takes only as long as its tests. Each test first runs without a mutant, to
// record which mutants it reaches. Then each mutant is tried by the tests that reach it, the fast ones first. If
// none of them kills it, the tests of other packages that use the package try it.
//
// The folder survivors has a list for each target, with the reason why a mutant may survive. A survivor that is not on
// the list, and an entry of the list that no longer survives, are errors.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/proof"
)

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func command() error {
	sample := flag.Int("sample", 0, "how many mutants of each target are tried; 0 tries all")
	seed := flag.Uint64("seed", 1, "of the sample")
	only := flag.String("only", "", "try only mutants whose name matches this pattern")
	tests := flag.String("tests", "", "run only tests whose name matches this pattern")
	again := flag.Bool("again", false, "try only the survivors of the former run that are not listed")
	own := flag.Bool("own", false, "run only the target's own tests")
	slow := flag.Duration("slow", 3*time.Second, "leave out tests that take longer")
	parallel := flag.Int("parallel", 2, "how many mutants are tried at a time")
	flag.Parse()
	matching, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("cannot compile the pattern: %w", err)
	}
	names := flag.Args()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(targets))
	}
	var table strings.Builder
	fmt.Fprint(&table, "| Package | Mutants | Killed | Survivors with a reason | Killed or with a reason |\n|---|---|---|---|---|\n")
	start := time.Now()
	failed := false
	for _, name := range names {
		t, ok := targets[name]
		if !ok {
			return fmt.Errorf("unknown target %q: use one of %s", name, slices.Sorted(maps.Keys(targets)))
		}
		t.tests = cmp.Or(*tests, t.tests)
		if *own {
			t.then = nil
		}
		r := &run{root: filepath.Join("..", ".."), target: t, sample: *sample, seed: *seed, slow: *slow, parallel: *parallel, log: os.Stderr}
		r.only = func(n Name) bool { return matching.MatchString(n.String()) }
		if *again {
			r.only = former(name)
		}
		err := report(name, r, &table)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			failed = true
		}
	}
	fmt.Fprintf(&table, "\nThe run took %s, with %d mutants at a time.\n", time.Since(start).Round(time.Second), *parallel)
	fmt.Print(table.String())
	if failed {
		return fmt.Errorf("not all mutants are killed or listed")
	}
	if *sample > 0 || *only != "" || *tests != "" || *again {
		return nil
	}
	return proof.Write("mutation", table.String())
}

// report runs a target, and adds a line to the table.
func report(name string, r *run, table *strings.Builder) error {
	reasons, err := listed(filepath.Join("survivors", name+".yaml"))
	if err != nil {
		return err
	}
	r.reasons = reasons
	all, results, err := r.start()
	if err != nil {
		return err
	}
	var left []Survivor
	killed, explained := 0, 0
	for _, res := range results {
		_, known := reasons[res.mutant.Name]
		switch {
		case res.killed != "":
			killed++
		case known:
			explained++
		default:
			left = append(left, Survivor{Name: res.mutant.Name})
		}
	}
	fmt.Fprintf(table, "| %s | %d | %d | %d | %.1f %% |\n", name, len(results), killed, explained,
		100*float64(killed+explained)/float64(max(1, len(results))))
	if err := remember(name, left); err != nil {
		return err
	}
	return compare(results, all, reasons)
}

// memory is where the unlisted survivors of the last run of a target are stored, in the form of the list.
func memory(name string) string {
	folder, err := os.UserCacheDir()
	if err != nil {
		folder = os.TempDir()
	}
	return filepath.Join(folder, "function-export", "mutation", name+".yaml")
}

func remember(name string, left []Survivor) error {
	content, err := yaml.Marshal(left)
	if err != nil {
		return fmt.Errorf("cannot encode the survivors: %w", err)
	}
	path := memory(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("cannot make a folder: %w", err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("cannot write the survivors: %w", err)
	}
	fmt.Fprintf(os.Stderr, "%s: the %d survivors without a reason are in %s\n", name, len(left), path)
	return nil
}

// former returns whether a mutant survived the last run of a target.
func former(name string) func(Name) bool {
	survived := map[Name]bool{}
	content, err := os.ReadFile(memory(name))
	if err != nil {
		return func(Name) bool { return false }
	}
	var list []Survivor
	if err := yaml.Unmarshal(content, &list); err != nil {
		return func(Name) bool { return false }
	}
	for _, s := range list {
		survived[s.Name] = true
	}
	return func(n Name) bool { return survived[n] }
}
