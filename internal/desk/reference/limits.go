package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"time"
)

// A LimitGroup is a block of constants, with its comment.
type LimitGroup struct {
	Title, Does string
	Limits      []Limit
}

// A Limit is a constant, with its comment.
type Limit struct{ Name, Value, Does string }

// limitsOf reads the constants of a Go file. The comment of a block begins with its title, which
// ends at the first full stop.
func limitsOf(source []byte) ([]LimitGroup, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "limits.go", source, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("cannot parse limits: %w", err)
	}
	config := types.Config{Importer: timeImporter{}}
	checked, err := config.Check("limits", files, []*ast.File{file}, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot check limits: %w", err)
	}
	var out []LimitGroup
	var missing []error
	for _, d := range file.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		var g LimitGroup
		g.Title, g.Does, _ = strings.Cut(oneLine(block.Doc), ". ")
		g.Title = strings.TrimSuffix(g.Title, ".")
		for _, s := range block.Specs {
			v, _ := s.(*ast.ValueSpec)
			for _, name := range v.Names {
				c, _ := checked.Scope().Lookup(name.Name).(*types.Const)
				l := Limit{name.Name, limitText(c), described(name.Name, oneLine(v.Doc))}
				if l.Does == "" || g.Title == "" {
					missing = append(missing, fmt.Errorf("cannot describe limit %s: it needs a comment that begins with its name and is", name.Name))
				}
				g.Limits = append(g.Limits, l)
			}
		}
		out = append(out, g)
	}
	return out, errors.Join(missing...)
}

// described is the comment of a limit without its name. It is empty if it does not begin with the name.
func described(name, comment string) string {
	rest, ok := strings.CutPrefix(comment, name+" is ")
	if !ok {
		return ""
	}
	return upper(rest)
}

// valueOf a limit.
func valueOf(groups []LimitGroup, name string) (string, error) {
	for _, g := range groups {
		for _, l := range g.Limits {
			if l.Name == name {
				return l.Value, nil
			}
		}
	}
	return "", fmt.Errorf("cannot find limit %s", name)
}

func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }

// limitText is the value of a constant in words: sizes in KiB and MiB, times in hours, minutes and
// seconds.
func limitText(c *types.Const) string {
	n, _ := constant.Int64Val(c.Val())
	switch {
	case strings.HasSuffix(c.Type().String(), "Duration"):
		return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(time.Duration(n).String())
	case strings.HasSuffix(c.Name(), "Bytes") && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case strings.HasSuffix(c.Name(), "Bytes") && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return count(n)
}

// A timeImporter has the one package that limits import, as far as they need it.
type timeImporter struct{}

// Import package time.
func (timeImporter) Import(path string) (*types.Package, error) {
	if path != "time" {
		return nil, fmt.Errorf("cannot import %s: limits import time only", path)
	}
	const source = `package time
type Duration int64
const (
	Millisecond Duration = 1000000
	Second = 1000 * Millisecond
	Minute = 60 * Second
	Hour = 60 * Minute
)`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "time.go", source, 0)
	if err != nil {
		return nil, err
	}
	return new(types.Config).Check("time", files, []*ast.File{file}, nil)
}
