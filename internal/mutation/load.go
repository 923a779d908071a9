package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A file is one source file of a package.
type file struct {
	name    string
	source  []byte
	tokens  *token.File
	syntax  *ast.File
	types   *types.Package
	imports map[string]string // paths to names
	seen    map[Name]int
	written []byte // with its mutants
	places  []span // of its mutants in written
}

// A source is a package whose tests are tested.
type source struct {
	dir      string
	name     string
	files    []*file
	mutants  []*Mutant
	importer types.Importer
}

// load reads a package and finds its mutants whose name matches a pattern.
func load(dir, pattern string) (*source, error) {
	matching, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("cannot compile the pattern of the mutants: %w", err)
	}
	names, imported, err := list(dir)
	if err != nil {
		return nil, err
	}
	s := &source{dir: dir, importer: imported}
	set := token.NewFileSet()
	var syntax []*ast.File
	var files []*file
	for _, name := range names {
		f, err := parse(set, dir, name)
		if err != nil {
			return nil, err
		}
		syntax, files = append(syntax, f.syntax), append(files, f)
		s.name = f.syntax.Name.Name
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: s.importer}
	pkg, err := config.Check(s.name, set, syntax, info)
	if err != nil {
		return nil, fmt.Errorf("cannot check the types of %s: %w", dir, err)
	}
	for _, f := range files {
		f.types = pkg
		f.nameImports(pkg)
		s.files = append(s.files, f)
		s.mutants = append(s.mutants, find(f, info)...)
	}
	s.mutants = slices.DeleteFunc(s.mutants, func(m *Mutant) bool {
		return !matching.MatchString(m.String())
	})
	return s, nil
}

// list returns the names of a package's files, and an importer of what they import.
func list(dir string) ([]string, types.Importer, error) {
	const format = `{{.Dir}}{{"\t"}}{{.ImportPath}}{{"\t"}}{{.Export}}{{"\t"}}{{join .GoFiles " "}}`
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", format, ".", "os", "strconv", "sync") //nolint:noctx // it ends by itself
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot list the package in %s: %w", dir, err)
	}
	exports := map[string]string{}
	var names []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 4 {
			continue // unsafe
		}
		exports[fields[1]] = fields[2]
		if fields[0] == dir {
			names = strings.Fields(fields[3])
		}
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	return names, importer.ForCompiler(token.NewFileSet(), "gc", open), nil
}

func parse(set *token.FileSet, dir, name string) (*file, error) {
	source, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // a file of this repository
	if err != nil {
		return nil, fmt.Errorf("cannot read a source file: %w", err)
	}
	syntax, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("cannot parse a source file: %w", err)
	}
	return &file{name: name, source: source, syntax: syntax, tokens: set.File(syntax.Pos()), seen: map[Name]int{}}, nil
}

// nameImports finds the name of each package that the file imports.
func (f *file) nameImports(pkg *types.Package) {
	names := map[string]string{}
	for _, p := range pkg.Imports() {
		names[p.Path()] = p.Name()
	}
	f.imports = map[string]string{}
	for _, spec := range f.syntax.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		f.imports[path] = names[path]
		if spec.Name != nil {
			f.imports[path] = spec.Name.Name
		}
	}
}

func (f *file) offsets(n ast.Node) (start, end int) {
	return f.tokens.Offset(n.Pos()), f.tokens.Offset(n.End())
}

func (f *file) text(n ast.Node) string {
	start, end := f.offsets(n)
	return string(f.source[start:end])
}

// longest is the length of a source text from which a name contains only the start.
const longest = 90

func (f *file) add(finder *finder, n ast.Node, change, before, after string) {
	start, end := f.offsets(n)
	text := strings.Join(strings.Fields(f.text(n)), " ")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	name := Name{File: f.name, Function: finder.function(), Source: text, Change: change}
	f.seen[name]++
	if n := f.seen[name]; n > 1 {
		name.Ordinal = n
	}
	finder.found = append(finder.found, &Mutant{Name: name, line: f.tokens.Line(n.Pos()), file: f,
		start: start, end: end, before: before, after: after})
}

// function returns the function or the variables around the current node.
func (f *finder) function() string {
	for _, n := range f.stack {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil {
				return n.Name.Name
			}
			return strings.TrimLeft(f.text(n.Recv.List[0].Type), "*") + "." + n.Name.Name
		case *ast.ValueSpec:
			return n.Names[0].Name
		}
	}
	return ""
}

// A span is the place of a mutant in an instrumented file.
type span struct {
	mutant     *Mutant
	start, end int
}

// checkTypes returns the mutants that do not compile.
func (s *source) checkTypes(helper []byte) (map[*Mutant]bool, error) {
	set := token.NewFileSet()
	var syntax []*ast.File
	byName := map[string]*file{}
	for _, f := range s.files {
		byName[f.name] = f
		parsed, err := parser.ParseFile(set, f.name, f.written, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("cannot parse %s with its mutants: %w", f.name, err)
		}
		syntax = append(syntax, parsed)
	}
	parsed, err := parser.ParseFile(set, helperFile, helper, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the helpers: %w", err)
	}
	wrong := map[*Mutant]bool{}
	var unknown error
	config := types.Config{Importer: s.importer, Error: func(err error) {
		var e types.Error
		errors.As(err, &e)
		place := set.Position(e.Pos)
		if m := byName[place.Filename].at(place.Offset); m != nil {
			wrong[m] = true
			return
		}
		unknown = err
	}}
	_, err = config.Check(s.name, set, append(syntax, parsed), nil)
	if err != nil && len(wrong) == 0 {
		return nil, fmt.Errorf("cannot check the types with all mutants: %w", unknown)
	}
	return wrong, nil
}

// at returns the innermost mutant at an offset of the written file.
func (f *file) at(offset int) *Mutant {
	if f == nil {
		return nil
	}
	var found *span
	for i, p := range f.places {
		if p.start <= offset && offset <= p.end && (found == nil || p.end-p.start <= found.end-found.start) {
			found = &f.places[i]
		}
	}
	if found == nil {
		return nil
	}
	return found.mutant
}
