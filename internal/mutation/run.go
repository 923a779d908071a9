package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A run says which mutants of a target are tried.
type run struct {
	root     string // of the repository
	target   target
	sample   int // 0 for all
	seed     uint64
	only     func(Name) bool
	reasons  map[Name]string // of listed survivors, which only the fast tests of the target try
	slow     time.Duration   // a test that takes longer is left out
	parallel int
	log      io.Writer
}

// A result says what kills a mutant.
type result struct {
	mutant *Mutant
	killed string // a test, or "time"; empty if it survives
}

// start tries the mutants, and returns all of them and the results of those that were tried.
func (r *run) start() ([]*Mutant, []result, error) {
	root, err := filepath.Abs(r.root)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot find the repository: %w", err)
	}
	r.root = root
	folder, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a folder: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // only a temporary folder
	source, err := load(filepath.Join(r.root, r.target.dir), r.target.mutants)
	if err != nil {
		return nil, nil, err
	}
	if err := source.instrument(); err != nil {
		return nil, nil, err
	}
	overlay, err := source.overlay(folder)
	if err != nil {
		return nil, nil, err
	}
	results := make([]result, 0, len(source.mutants))
	for _, m := range r.choose(source.mutants) {
		results = append(results, result{mutant: m})
	}
	r.say("%d of %d mutants", len(results), len(source.mutants))
	for i, dir := range append([]string{r.target.dir}, r.target.then...) {
		if err := r.try(folder, dir, overlay, results, i > 0); err != nil {
			return nil, nil, err
		}
	}
	return source.mutants, results, nil
}

func (r *run) choose(mutants []*Mutant) []*Mutant {
	chosen := slices.Clone(mutants)
	if r.only != nil {
		chosen = slices.DeleteFunc(chosen, func(m *Mutant) bool { return !r.only(m.Name) })
	}
	if r.sample > 0 && r.sample < len(chosen) {
		random := rand.New(rand.NewPCG(r.seed, 0)) //nolint:gosec // the sample is not a secret
		random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:r.sample]
	}
	return chosen
}

// try runs the tests of one package for each mutant that is still alive.
func (r *run) try(folder, dir, overlay string, results []result, other bool) error {
	var alive []*result
	for i := range results {
		_, known := r.reasons[results[i].mutant.Name]
		if results[i].killed == "" && (!known || !other) {
			alive = append(alive, &results[i])
		}
	}
	if len(alive) == 0 {
		return nil
	}
	start := time.Now()
	b, err := build(folder, filepath.Join(r.root, dir), overlay, r.target)
	if err != nil {
		return err
	}
	r.say("%s: built after %s", dir, time.Since(start).Round(time.Second))
	if err := b.record(r.parallel, r.slow); err != nil {
		return err
	}
	for _, u := range b.unstable {
		r.say("%s: %s", dir, u)
	}
	r.say("%s: %d tests recorded after %s", dir, len(b.tests), time.Since(start).Round(time.Second))
	err = each(r.parallel, len(alive), func(i int) error {
		_, known := r.reasons[alive[i].mutant.Name]
		killed, err := b.kills(alive[i].mutant.id, known)
		alive[i].killed = killed
		if killed == "" && !known {
			r.say("%s: alive: %s", dir, alive[i].mutant.Name)
		}
		return err
	})
	survive := 0
	for _, a := range alive {
		if a.killed == "" {
			survive++
		}
	}
	r.say("%s: %d of %d survive after %s", dir, survive, len(alive), time.Since(start).Round(time.Second))
	return err
}

func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.log, strings.TrimSuffix(format, "\n")+"\n", args...)
}
