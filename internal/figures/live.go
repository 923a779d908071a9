package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// How much load the figures are made with, unless the environment says otherwise. CI has
// less.
var liveLoad = []string{"LIVE_LOAD=500", "LIVE_SOAK=10m"}

// runLive shows what goes on, for it takes long.
func runLive() error {
	cmd := exec.Command("go", "test", "./internal/e2e/live", "-run", "^TestLoad", "-count=1", "-timeout=1h", "-v")
	// Of two values of one variable the last one counts.
	cmd.Env = append(append(append([]string{}, liveLoad...), os.Environ()...), "FUNCTION_EXPORT_LIVE=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, os.Stderr), os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cannot measure: %w", err)
	}
	table, err := liveTableOf(out.String())
	if err != nil {
		return err
	}
	return write("go run ./internal/figures -live", table)
}

var figure = regexp.MustCompile(`(?m)^figure (\S+) (.*)$`)

// figuresOf the output of the tests, by their names.
func figuresOf(out string) map[string]metric {
	all := map[string]metric{}
	for _, m := range figure.FindAllStringSubmatch(out, -1) {
		values := metric{}
		for _, pair := range strings.Fields(m[2]) {
			name, text, _ := strings.Cut(pair, "=")
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				values[name] = v
			}
		}
		all[m[1]] = values
	}
	return all
}

func liveTableOf(out string) (string, error) {
	all := figuresOf(out)
	for _, name := range []string{"create", "change", "alone", "soak"} {
		if all[name] == nil {
			return "", fmt.Errorf("cannot find the figures of %q", name)
		}
	}
	var b strings.Builder
	b.WriteString("\n| Crossplane and two replicas | all done after | calls | the function's CPU, per call | mean | 50, 95, 99 % of the calls take at most | memory of a replica, at most |\n|---|---|---|---|---|---|---|\n")
	for _, stage := range []struct{ name, text string }{{"create", "are created"}, {"change", "are changed"}} {
		f := all[stage.name]
		fmt.Fprintf(&b, "| %.0f composites with %.0f exports each %s | %.0f s | %.0f | %.1f ms | %.1f ms | %.0f, %.0f, %.0f ms | %.0f MiB |\n",
			f["composites"], f["exports-each"], stage.text, f["seconds"], f["calls"], f["cpu-ms"], f["mean-ms"], f["p50-ms"], f["p95-ms"], f["p99-ms"], f["peak-MiB"])
	}
	alone, soak := all["alone"], all["soak"]
	b.WriteString("\n| one replica alone | requests | each second | CPU, per request | 50, 95, 99 % take at most | memory |\n|---|---|---|---|---|---|\n")
	fmt.Fprintf(&b, "| %.0f clients at once, 2 to 500 KiB | %.0f | %.0f | %.1f ms | %.0f, %.0f, %.0f ms | %.0f MiB at most |\n",
		alone["clients"], alone["requests"], alone["per-second"], alone["cpu-ms"], alone["p50-ms"], alone["p95-ms"], alone["p99-ms"], alone["peak-MiB"])
	fmt.Fprintf(&b, "| the same for %.3g minutes | %.0f | %.0f | | | %.0f MiB after a tenth, %.0f at the end, %.0f at most |\n",
		soak["minutes"], soak["requests"], soak["per-second"], soak["begin-MiB"], soak["end-MiB"], soak["peak-MiB"])
	fmt.Fprintf(&b, "\n%s, %d cores, which the control plane, the clients and the function share.\n\n", runtime.Version(), runtime.NumCPU())
	return b.String(), nil
}
