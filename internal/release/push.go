package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

type pushCmd struct {
	output
	Reference string `arg:"" help:"Where to push it: REGISTRY/REPOSITORY:TAG. Log in with docker before."`
}

// Run pushes the packages of build, and prints the digest of the package with all architectures. It
// fails if the digest in the registry differs from the built one.
func (c *pushCmd) Run(ctx context.Context, w *workspace) error {
	dir := c.dir(w.root)
	for _, arch := range architectures {
		if _, err := os.Stat(packageFile(dir, arch)); err != nil {
			return fmt.Errorf("cannot find a package for linux/%s: build it first: %w", arch, err)
		}
	}
	if err := checkVersion(dir, c.Reference); err != nil {
		return err
	}
	crossplane, err := w.crossplane(ctx)
	if err != nil {
		return err
	}
	built, err := rehearse(ctx, crossplane, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.stderr, "pushing to %s\n", c.Reference)
	pushed, err := push(ctx, crossplane, dir, c.Reference)
	if err != nil {
		return err
	}
	if pushed != built {
		return fmt.Errorf("cannot trust what %q has: %s was built, and %s is there", c.Reference, built, pushed)
	}
	fmt.Fprintln(w.stdout, pushed)
	return nil
}

// checkVersion refuses to publish a package under the name of another version, because the output
// folder may have an older build.
func checkVersion(dir, reference string) error {
	tag, err := name.NewTag(reference, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("cannot read reference: %w", err)
	}
	if !strings.HasPrefix(tag.TagStr(), "v") {
		return nil // for example latest
	}
	for _, arch := range architectures {
		f, err := readFunction(packageFile(dir, arch))
		if err != nil {
			return err
		}
		if f.version != tag.TagStr() {
			return fmt.Errorf("cannot push %s for linux/%s as %s: build that version first", f.version, arch,
				tag.TagStr())
		}
	}
	return nil
}

// rehearse pushes to a registry in this process, which exists only for this call. So it finds the
// digest that any registry will have, and a later build of the same commit can be compared with the
// published package.
func rehearse(ctx context.Context, crossplane, dir string) (v1.Hash, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return v1.Hash{}, fmt.Errorf("cannot rehearse a push: %w", err)
	}
	server := &http.Server{
		Handler:           registry.New(registry.Logger(log.New(io.Discard, "", 0))),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go server.Serve(listener) //nolint:errcheck // It ends when it is closed.
	defer server.Close()      //nolint:errcheck // Nothing is kept.
	return push(ctx, crossplane, dir, listener.Addr().String()+"/function-export:rehearsal")
}

// push pushes the packages of a folder as one package with several architectures, and returns the
// digest that the registry then has under that name.
func push(ctx context.Context, crossplane, dir, reference string) (v1.Hash, error) {
	files := make([]string, 0, len(architectures))
	for _, arch := range architectures {
		files = append(files, packageFile(dir, arch))
	}
	if _, err := run(ctx, "", nil, crossplane, "xpkg", "push", "--package-files="+strings.Join(files, ","),
		reference); err != nil {
		return v1.Hash{}, err
	}
	tag, err := name.NewTag(reference, name.StrictValidation)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("cannot read reference: %w", err)
	}
	found, err := remote.Head(tag, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return v1.Hash{}, fmt.Errorf("cannot find %q after it was pushed: %w", reference, err)
	}
	return found.Digest, nil
}
