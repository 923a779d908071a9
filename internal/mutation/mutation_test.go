package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFindsThePlantedMutants plants mistakes that the tests of a small package miss. They are the only ones that survive.
func TestFindsThePlantedMutants(t *testing.T) {
	r := &run{root: ".", target: target{dir: "testdata/tiny"}, slow: 3 * time.Second, parallel: 2, log: t.Output()}
	all, results, err := r.start()
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[Name]string{
		{File: "tiny.go", Function: "Sum", Source: "sum > limit", Change: ">="}: "The limit is returned for the limit.",
	}
	var missed []string
	for _, res := range results {
		if _, known := reasons[res.mutant.Name]; res.killed == "" && !known {
			missed = append(missed, res.mutant.String())
		}
	}
	want := []string{
		`tiny.go: Name: name == "": false`,
		`tiny.go: Name: "": another text`,
		`tiny.go: Name: "anonymous": empty`,
	}
	slices.Sort(missed)
	slices.Sort(want)
	if diff := cmp.Diff(want, missed); diff != "" {
		t.Errorf("No test calls Name without a name. All other mistakes are noticed:\n%s", diff)
	}
	for _, name := range missed {
		if err := compare(results, all, reasons); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("A survivor that is not listed is an error: %s", name)
		}
	}
}

// TestCompare compares the results of a run with a list of survivors.
func TestCompare(t *testing.T) {
	a := &Mutant{Name: Name{File: "a.go", Function: "A", Source: "x > 1", Change: ">="}}
	b := &Mutant{Name: Name{File: "a.go", Function: "A", Source: "x > 1", Change: "<="}}
	gone := Name{File: "a.go", Function: "A", Source: "x > 2", Change: ">="}
	cases := map[string]struct {
		reason  string
		results []result
		listed  []Name
		want    string
	}{
		"killed": {
			reason:  "Nothing survives, so nothing is listed.",
			results: []result{{a, "TestA"}, {b, "time"}},
		},
		"listed": {
			reason:  "A survivor with a reason is not an error.",
			results: []result{{a, ""}, {b, "TestA"}}, listed: []Name{a.Name},
		},
		"not listed": {
			reason:  "A survivor without a reason is an error.",
			results: []result{{a, ""}, {b, "TestA"}},
			want:    "no test kills the mutant of line 0: a.go: A: x > 1: >=",
		},
		"listed but killed": {
			reason:  "The list contains only survivors.",
			results: []result{{a, "TestA"}, {b, "TestA"}}, listed: []Name{a.Name},
			want: "TestA kills a listed survivor: a.go: A: x > 1: >=",
		},
		"listed but gone": {
			reason:  "A mutant of code that has changed does not stay on the list.",
			results: []result{{a, "TestA"}, {b, "TestA"}}, listed: []Name{gone},
			want: "a listed survivor does not exist: a.go: A: x > 2: >=",
		},
		"not in the sample": {
			reason: "A listed mutant that is not tried is not an error.",
			listed: []Name{a.Name},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reasons := map[Name]string{}
			for _, n := range tc.listed {
				reasons[n] = "a reason"
			}
			got := ""
			if err := compare(tc.results, []*Mutant{a, b}, reasons); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLists checks that each listed survivor still exists, which needs no test of the target.
func TestLists(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		t.Run(name, func(t *testing.T) {
			reasons, err := listed(filepath.Join("survivors", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			dir, err := filepath.Abs(filepath.Join("..", "..", targets[name].dir))
			if err != nil {
				t.Fatal(err)
			}
			s, err := load(dir, targets[name].mutants)
			if err != nil {
				t.Fatal(err)
			}
			if err := compare(nil, s.mutants, reasons); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSample tries some mutants of what happens to generations.
func TestSample(t *testing.T) {
	reasons, err := listed("survivors/generations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := &run{root: filepath.Join("..", ".."), target: targets["generations"], sample: 60, seed: 1, slow: 3 * time.Second,
		parallel: 2, reasons: reasons, log: t.Output()}
	all, results, err := r.start()
	if err != nil {
		t.Fatal(err)
	}
	if err := compare(results, all, reasons); err != nil {
		t.Error(err)
	}
}
