package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/render"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
)

// folderTime is the time of a folder without a now.txt.
var folderTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// runFolder renders a folder, and compares the objects with its expected.yaml.
func (o *outcome) runFolder(ctx context.Context, engine pipeline.Engine, runner *exportstest.Runner) {
	c := &render.Command{Paths: []string{o.file}}
	if o.rendering, o.err = c.Render(ctx, terminal.Disk(nil), folderTime, engine); o.err != nil {
		return
	}
	path := filepath.Join(o.file, expectedFile)
	read := terminal.Disk(nil).Read(path, files.AnyText)
	if o.err = read.First(); o.err != nil {
		return
	}
	var want []map[string]any
	for _, object := range read.Objects() {
		fields, _ := object.Value.(map[string]any)
		want = append(want, fields)
	}
	for _, f := range runner.Compare(want, o.rendering.Objects, o.rendering.Observed) {
		o.failures = append(o.failures, failure{f, 1})
	}
}

// update prints the failures of folders, and writes what was rendered.
func update(outcomes []*outcome, stdout io.Writer) error {
	if os.Getenv("CI") != "" {
		return errors.New("--update in CI would make each test expect what it gets: run it on your machine")
	}
	for _, o := range outcomes {
		if o.err != nil || len(o.failures) == 0 {
			continue
		}
		if o.in != nil {
			if err := o.updateFile(stdout); err != nil {
				return err
			}
			continue
		}
		o.printFailures(stdout, true)
		var text bytes.Buffer
		for _, object := range o.rendering.Objects {
			b, err := yaml.Marshal(object)
			if err != nil {
				return fmt.Errorf("cannot write %s: %w", o.file, err)
			}
			text.WriteString("---\n")
			text.Write(b)
		}
		if err := write(filepath.Join(o.file, expectedFile), text.Bytes()); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(stdout, "wrote %s\n", filepath.Join(o.file, expectedFile)) // the file matters
		o.failures = nil
	}
	return nil
}

func write(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // a file that is committed
		return fmt.Errorf("cannot write %s: %w", path, files.WithoutPath(err))
	}
	return nil
}
