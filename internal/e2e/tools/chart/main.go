// Command chart prints what the Helm chart of Crossplane would install, with its default
// values: the live tests apply its RBAC and run its containers as processes.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: chart FOLDER NAMESPACE")
		os.Exit(2)
	}

	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir, namespace string) error {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot load chart: %w", err)
	}

	values, err := chartutil.ToRenderValues(c, nil, chartutil.ReleaseOptions{Name: "crossplane", Namespace: namespace},
		nil)
	if err != nil {
		return fmt.Errorf("cannot prepare values: %w", err)
	}

	files, err := engine.Render(c, values)
	if err != nil {
		return fmt.Errorf("cannot render chart: %w", err)
	}

	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Printf("---\n# %s\n%s\n", name, files[name])
	}

	return nil
}
