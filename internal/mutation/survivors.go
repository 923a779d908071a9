package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// A Survivor is a mutant that no test kills, and the reason why this is right.
type Survivor struct {
	Name   `json:",inline"`
	Reason string `json:"reason"`
}

// listed reads the survivors of a target.
func listed(path string) (map[Name]string, error) {
	content, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	if errors.Is(err, os.ErrNotExist) {
		return map[Name]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the list of survivors: %w", err)
	}
	var list []Survivor
	if err := yaml.UnmarshalStrict(content, &list); err != nil {
		return nil, fmt.Errorf("cannot decode %s: %w", filepath.Base(path), err)
	}
	reasons := make(map[Name]string, len(list))
	for _, s := range list {
		if _, again := reasons[s.Name]; again {
			return nil, fmt.Errorf("%s lists a survivor twice: %s", filepath.Base(path), s.Name)
		}
		if s.Reason == "" {
			return nil, fmt.Errorf("%s lists a survivor without a reason: %s", filepath.Base(path), s.Name)
		}
		reasons[s.Name] = s.Reason
	}
	return reasons, nil
}

// compare returns an error that names each survivor without a reason, and each reason without a survivor.
func compare(results []result, all []*Mutant, reasons map[Name]string) error {
	exists := map[Name]bool{}
	for _, m := range all {
		exists[m.Name] = true
	}
	var errs error
	for name := range reasons {
		if !exists[name] {
			errs = errors.Join(errs, fmt.Errorf("a listed survivor does not exist: %s", name))
		}
	}
	for _, r := range results {
		_, known := reasons[r.mutant.Name]
		switch {
		case r.killed == "" && !known:
			errs = errors.Join(errs, fmt.Errorf("no test kills the mutant of line %d: %s", r.mutant.line, r.mutant.Name))
		case r.killed != "" && known:
			errs = errors.Join(errs, fmt.Errorf("%s kills a listed survivor: %s", r.killed, r.mutant.Name))
		}
	}
	return errs
}
