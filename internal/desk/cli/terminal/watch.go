package terminal

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
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

// states returns the time and the size of each file. A file that is missing or removed meanwhile is a change.
func states(paths []string) map[string]string {
	disk, out := Disk(nil), map[string]string{}
	for _, path := range paths {
		isFolder, err := disk.IsFolder(path)
		if err != nil {
			path, _ = doublestar.SplitPattern(filepath.ToSlash(path))
		} else if !isFolder {
			path = filepath.Dir(path)
		}
		names, _ := disk.Find([]string{path}, files.AllBelow)
		for _, name := range names {
			if info, err := os.Stat(name); err == nil {
				out[name] = fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
			}
		}
	}
	return out
}
