package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/composition"
	"github.com/crossplane-contrib/function-export/internal/document"
	"github.com/crossplane-contrib/function-export/internal/suggest"
)

// stdinName is the path that stands for what comes in on stdin, and how it is
// called in texts.
const stdinName = "-"

// group is the input's, of whichever version.
var group, _, _ = strings.Cut(v1beta1.APIVersion, "/") //nolint:gochecknoglobals // a constant that has to be cut

// An exportsStep is one input of this function, and where it was found.
type exportsStep struct {
	file string
	doc  *document.Document
	at   []any // the input's path in the document
	name string

	composition *composition.Composition // or nil: it stands alone
	input       map[string]any           // nil if the step has none
}

// title of the input in texts.
func (s exportsStep) title() string {
	if s.name == "" {
		return s.file
	}
	return fmt.Sprintf("%s, step %q", s.file, s.name)
}

// A foundFile is a file that was read.
type foundFile struct {
	name   string
	docs   []*document.Document
	faults []*document.Fault // documents that are no YAML
	err    error             // it could not be read

	holdsSteps bool // it may hold inputs of this function
}

// first is what keeps a file from being read as a whole, or nil.
func (f foundFile) first() error {
	if f.err != nil || len(f.faults) == 0 {
		return f.err
	}
	return fmt.Errorf("%s:%d:%d: %s", f.name, f.faults[0].Line, f.faults[0].Column, f.faults[0].Message)
}

// findFiles are the files that the paths mean, each once, in the order of the paths
// and, of one path, of their names. A path is a file, a folder with all that is
// below it, a pattern with *, **, ? or [ ], or - for stdin.
func findFiles(paths []string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for _, p := range paths {
		files, err := filesOf(p)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if same := identity(f); !seen[same] {
				seen[same] = true
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// identity of a file, however its path is spelled.
func identity(file string) string {
	if file == stdinName {
		return file
	}
	if whole, err := filepath.Abs(file); err == nil {
		return whole
	}
	return file
}

func filesOf(path string) ([]string, error) {
	if path == stdinName {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return []string{path}, nil
	case err == nil:
		return filesBelow(path)
	case !strings.ContainsAny(path, "*?[{"):
		return nil, cannotRead(path, err)
	}
	matches, err := doublestar.FilepathGlob(path, doublestar.WithFilesOnly())
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: it is not a valid pattern", path)
	}
	if !strings.HasPrefix(path, ".") && !strings.Contains(path, "/.") {
		matches = slices.DeleteFunc(matches, isHidden) // as in a folder
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("cannot find a file that matches %s", path)
	}
	slices.Sort(matches)
	return matches, nil
}

// isHidden reports whether a file, or a folder that it is in, has a name with a dot in
// front.
func isHidden(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), func(name string) bool {
		return strings.HasPrefix(name, ".") && name != "." && name != ".."
	})
}

// filesBelow are the YAML files in a folder and all below it, but not in hidden
// ones.
func filesBelow(folder string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch ext := filepath.Ext(path); {
		case err != nil:
			return cannotRead(path, err)
		case d.IsDir() && path != folder && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && (ext == ".yaml" || ext == ".yml"):
			out = append(out, path)
		}
		return nil
	})
	return out, err
}

// readFiles reads and parses files on all cores. wanted says from its text whether a document is parsed at all. They stay in their order.
func readFiles(files []string, stdin io.Reader, wanted func(text string) bool) []foundFile {
	return onAllCores(files, func(name string) foundFile { return readFile(name, stdin, wanted) }, func(int) {})
}

func readFile(name string, stdin io.Reader, wanted func(text string) bool) foundFile {
	out := foundFile{name: name}
	var data []byte
	var err error
	switch {
	case name == stdinName && stdin == nil:
		err = errors.New("schemas have to be in files")
	case name == stdinName:
		out.name = "<stdin>"
		data, err = io.ReadAll(stdin)
	default:
		data, err = os.ReadFile(name)
	}
	if err != nil {
		out.err = cannotRead(name, err)
		return out
	}
	text := document.Text(string(data))
	out.holdsSteps = mayHoldSteps(text)
	if wanted(text) {
		out.docs, out.faults = document.ParseAll(text)
	}
	return out
}

// onAllCores calls do for each item, as many at once as there are cores. The results
// are in the order of the items.
func onAllCores[T, R any](items []T, do func(T) R, progress func(done int)) []R {
	out := make([]R, len(items))
	var next, done int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(items)) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(items) {
					return
				}
				out[i] = do(items[i])
				mu.Lock()
				done++
				progress(done)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return out
}

// A placedError is about a document, and where that begins.
type placedError struct {
	position document.Position
	err      error
}

// findSteps are the inputs of this function in a file: in the pipelines of
// Compositions, in a list of pipeline steps, and by themselves. An error is about one
// document, and does not stop at it.
func findSteps(f foundFile) ([]exportsStep, []placedError) {
	var out []exportsStep
	var errs []placedError
	for _, d := range f.docs {
		steps, err := stepsOf(d.Value(), nil)
		if err != nil {
			errs = append(errs, placedError{d.Start(), err})
			continue
		}
		for _, s := range steps {
			s.file, s.doc = f.name, d
			out = append(out, s)
		}
	}
	return out, errs
}

func stepsOf(v any, at []any) ([]exportsStep, error) {
	if list, ok := v.([]any); ok { // of steps, as `fn migrate` prints them
		return pipelineSteps(list, at, nil), nil
	}
	object, _ := v.(map[string]any)
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	switch g, _, _ := strings.Cut(apiVersion, "/"); {
	case g == group:
		return []exportsStep{{at: at, input: object}}, nil
	case g == "apiextensions.crossplane.io" && (kind == "Composition" || kind == "CompositionRevision"):
		return compositionSteps(object, at)
	case apiVersion == "v1" && kind == "List":
		return listSteps(object, at)
	}
	return nil, nil
}

func listSteps(list map[string]any, at []any) ([]exportsStep, error) {
	var out []exportsStep
	items, _ := list["items"].([]any)
	for i, item := range items {
		steps, err := stepsOf(item, append(slices.Clone(at), "items", i))
		if err != nil {
			return nil, err
		}
		out = append(out, steps...)
	}
	return out, nil
}

func compositionSteps(object map[string]any, at []any) ([]exportsStep, error) {
	spec, _ := object["spec"].(map[string]any)
	pipeline, _ := spec["pipeline"].([]any)
	at = append(slices.Clone(at), "spec", "pipeline")
	if len(pipelineSteps(pipeline, at, nil)) == 0 {
		return nil, nil // none of our business, whatever it is
	}
	object = maps.Clone(object)
	object["kind"] = composition.Kind // a CompositionRevision has the same spec
	c, err := composition.Read(object)
	if err != nil {
		return nil, err
	}
	return pipelineSteps(pipeline, at, c), nil
}

// pipelineSteps are those that run this function: by their input, of which the
// group may be misspelt, or by the name of the function where it has none.
func pipelineSteps(pipeline []any, at []any, c *composition.Composition) []exportsStep {
	var out []exportsStep
	for i, item := range pipeline {
		step, _ := item.(map[string]any)
		input, _ := step["input"].(map[string]any)
		apiVersion, _ := input["apiVersion"].(string)
		g, _, _ := strings.Cut(apiVersion, "/")
		ref, _ := step["functionRef"].(map[string]any)
		function, _ := ref["name"].(string)
		unset := apiVersion == "" && strings.HasSuffix(function, "function-export")
		misspelt := input["kind"] == v1beta1.Kind && suggest.Nearest(g, []string{group}) != ""
		if g != group && !misspelt && !unset {
			continue
		}
		s := exportsStep{at: append(slices.Clone(at), i), composition: c, input: input}
		s.name, _ = step["step"].(string)
		if input != nil {
			s.at = append(s.at, "input")
		}
		out = append(out, s)
	}
	return out
}

// mayHoldSteps is a quick look at a text, which finds each that holds an input of this
// function.
func mayHoldSteps(text string) bool {
	return strings.Contains(text, group) || strings.Contains(text, "function-export")
}
