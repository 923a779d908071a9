package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"time"
)

// A LimitGroup is a block of constants, with its comment.
type LimitGroup struct {
	Title, Does string
	Limits      []Limit
}

// A Limit is the comment of a constant, with its value.
type Limit struct{ Does, Value string }

// internals are limits that the page leaves out: a message says what to do when one of them is reached, and nothing in
// an input can be chosen by them.
var internals = strings.Fields(`YAMLDepth PEMBlocks ChainCertificates CallElements RangeElements BindNesting
	AuthorLabels AuthorKeys FileBytes FileDocuments MessageBytes KeyBytes SourceBytes Diagnostics ExplainedCharacters
	Retries GenerationNumber
	LostGracePeriod RecordBytes SlowGenerations GenerationsFuel GenerationSpace
	ExpressionRecursion ExpressionNodes ExpressionCheckingCost RegexInstructions Fuel KeyFuel RequestFuel
	PieceFuel AuthorFuel AuthorRequestFuel Plans Schemas MessageItems`)

// limitsOf reads the constants of a Go file, and their values by name. The comment of a block begins with its title,
// which ends at the first full stop.
func limitsOf(source []byte) (groups []LimitGroup, values map[string]string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "limits.go", source, parser.ParseComments)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot parse limits: %w", err)
	}
	config := types.Config{Importer: importer.ForCompiler(files, "source", nil)} // for package time
	checked, err := config.Check("limits", files, []*ast.File{file}, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot check limits: %w", err)
	}
	values = map[string]string{}
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
				values[name.Name] = limitText(c)
				if !slices.Contains(internals, name.Name) {
					does := strings.TrimPrefix(oneLine(v.Doc), name.Name+" is ")
					g.Limits = append(g.Limits, Limit{upper(strings.TrimSuffix(firstSentence(does), ".")), limitText(c)})
				}
			}
		}
		groups = append(groups, g)
	}
	return groups, values, nil
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
