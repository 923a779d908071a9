package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// number stands for the number of a mutant in the texts that it inserts.
const number = "\ue000"

// helperFile is a file that the overlay adds to a package.
const helperFile = "zz_mutants.go"

//go:embed helper.txt
var helperText string

// instrument writes all mutants into the source, and leaves out those that do not compile.
func (s *source) instrument() error {
	helper := []byte("package " + s.name + "\n" + helperText)
	for {
		for i, m := range s.mutants {
			m.id = i
		}
		for _, f := range s.files {
			f.write(s.mutants)
		}
		wrong, err := s.checkTypes(helper)
		if err != nil {
			return err
		}
		if len(wrong) == 0 {
			return nil
		}
		s.mutants = slices.DeleteFunc(s.mutants, func(m *Mutant) bool { return wrong[m] })
	}
}

// An insertion is a text that is inserted before a byte of the source.
type insertion struct {
	at     int
	text   string
	mutant *Mutant
	starts bool
}

// write inserts the mutants of the file. Mutants of the same node surround each other.
func (f *file) write(mutants []*Mutant) {
	var starts, ends []insertion
	for _, m := range mutants {
		if m.file == f {
			starts = append(starts, insertion{m.start, m.numbered(m.before), m, true})
			ends = append(ends, insertion{m.end, m.numbered(m.after), m, false})
		}
	}
	// Among those that start at one byte, the longest is the outermost. It starts first, and ends last.
	slices.SortStableFunc(starts, func(a, b insertion) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.mutant.end, a.mutant.end))
	})
	order := map[*Mutant]int{}
	for i, s := range starts {
		order[s.mutant] = i
	}
	slices.SortStableFunc(ends, func(a, b insertion) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(order[b.mutant], order[a.mutant]))
	})
	f.merge(starts, ends)
}

// merge writes the source with its insertions. A mutant that ends at a byte does so before another one starts there.
func (f *file) merge(starts, ends []insertion) {
	var out strings.Builder
	begun := map[*Mutant]int{}
	f.places = nil
	from := 0
	for len(ends) > 0 {
		next := &ends
		if len(starts) > 0 && starts[0].at < ends[0].at {
			next = &starts
		}
		in := (*next)[0]
		*next = (*next)[1:]
		out.Write(f.source[from:in.at])
		from = in.at
		if in.starts {
			begun[in.mutant] = out.Len()
		}
		out.WriteString(in.text)
		if !in.starts {
			f.places = append(f.places, span{in.mutant, begun[in.mutant], out.Len()})
		}
	}
	out.Write(f.source[from:])
	f.written = []byte(out.String())
}

func (m *Mutant) numbered(text string) string {
	return strings.ReplaceAll(text, number, strconv.Itoa(m.id))
}

// overlay writes the package with its mutants into a folder, and returns the file for go test -overlay.
func (s *source) overlay(folder string) (string, error) {
	replace := map[string]string{}
	write := func(name string, content []byte) error {
		path := filepath.Join(folder, name)
		replace[filepath.Join(s.dir, name)] = path
		return os.WriteFile(path, content, 0o600)
	}
	if err := write(helperFile, []byte("package "+s.name+"\n"+helperText)); err != nil {
		return "", fmt.Errorf("cannot write the helpers: %w", err)
	}
	for _, f := range s.files {
		if err := write(f.name, f.written); err != nil {
			return "", fmt.Errorf("cannot write a file with mutants: %w", err)
		}
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("cannot encode the overlay: %w", err)
	}
	path := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("cannot write the overlay: %w", err)
	}
	return path, nil
}
