package terminal

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// watchEvery is how often the times of files are compared. A change is noticed within 200 ms, also in folders whose
// file system has no events.
const watchEvery = 100 * time.Millisecond

// Watch calls run, and again after each change of a file in the folders of the paths, until the context ends.
func Watch(ctx context.Context, paths []string, stderr io.Writer, run func() error) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	var seen map[string]string
	for {
		now := states(paths)
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
func states(paths []string) map[string]string {
	out := map[string]string{}
	for _, path := range paths {
		switch info, err := os.Stat(path); {
		case err != nil:
			path, _ = doublestar.SplitPattern(filepath.ToSlash(path))
		case !info.IsDir():
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
