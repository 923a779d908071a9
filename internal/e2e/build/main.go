// Command build builds the programs that the end-to-end tests run the function with, and prints
// where they are. If the tests have a time limit, run it before them: go -C internal/e2e run ./build.
// With the argument live it also builds the programs of a control plane.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/crossplane-contrib/function-export/internal/e2e"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	progress := func(text string) { fmt.Fprintln(os.Stderr, text) }

	p, err := e2e.BuildPeers(ctx, progress)
	if err != nil {
		return err
	}

	fmt.Println(p.CLI)
	fmt.Println(p.Core)

	if len(os.Args) < 2 || os.Args[1] != "live" {
		return nil
	}

	c, err := e2e.BuildControlPlane(ctx, progress)
	if err != nil {
		return err
	}

	for _, path := range []string{c.Etcd, c.APIServer, c.ControllerManager, c.Kubectl, c.Registry, c.Chart} {
		fmt.Println(path)
	}

	return nil
}
