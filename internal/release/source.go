package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A source is the input of a package build. Two builds of one source are the same, byte for byte,
// because a product has no other time and no other name.
type source struct {
	root     string
	version  string
	revision string    // of git; empty without it
	time     time.Time // of the commit; the Unix epoch without one
}

// readSource reads from git what the repository has checked out. The default version is Go's
// pseudo-version of the commit. Uncommitted changes make the version and the revision dirty, even
// if a version is set. Without git a version is required.
func readSource(ctx context.Context, root, version string) (source, error) {
	src := source{root: root, version: version, time: time.Unix(0, 0).UTC()}
	commit, err := run(ctx, root, nil, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		if version != "" {
			return src, nil
		}
		return source{}, errors.Join(errors.New("cannot tell the version without git: give --version"), err)
	}
	revision, at, _ := strings.Cut(commit, " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("cannot read the time of commit %q: %w", revision, err)
	}
	changes, err := run(ctx, root, nil, "git", "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	dirty := ""
	if changes != "" {
		dirty = "-dirty"
	}
	src.revision, src.time = revision+dirty, time.Unix(seconds, 0).UTC()
	if version == "" {
		src.version = fmt.Sprintf("v0.0.0-%s-%s%s", src.time.Format("20060102150405"), revision[:12], dirty)
	}
	return src, nil
}
