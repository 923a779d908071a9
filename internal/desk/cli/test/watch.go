package test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// watchEvery is how often the times of files are compared. A change starts the tests within 200 ms, also in folders whose
// file system has no events.
const watchEvery = 100 * time.Millisecond

// watch runs the tests, and again after each change of a file in the folders of the paths, until the context ends.
func (c *Command) watch(ctx context.Context, stderr io.Writer, run func() error) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	var seen map[string]string
	for {
		now := c.states()
		if !maps.Equal(seen, now) {
			seen = now
			if err := run(); err != nil {
				_, _ = fmt.Fprintln(stderr, err) // the next run may pass
			}
			_, _ = fmt.Fprintln(stderr, "waiting for a change")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// states returns the time and the size of each file.
func (c *Command) states() map[string]string {
	out := map[string]string{}
	for _, path := range append(slices.Clone(c.Paths), c.Functions) {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			path = filepath.Dir(path)
		}
		_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error { // a missing file is a change
			switch {
			case err != nil:
				return nil //nolint:nilerr // it was removed meanwhile
			case d.IsDir() && name != path && strings.HasPrefix(d.Name(), "."):
				return fs.SkipDir
			case !d.IsDir():
				if info, err := d.Info(); err == nil {
					out[name] = fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
				}
			}
			return nil
		})
	}
	return out
}
