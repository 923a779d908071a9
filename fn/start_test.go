package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The compared programs.
const (
	benchEmpty  = "empty"           // the cost that every function has
	benchExport = "function-export" // this function
)

// released are the flags with which a release is built, without symbols.
var released = []string{"build", "-tags=grpcnotrace", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"}

// A benchProgram is a function, built as a release.
type benchProgram struct{ name, path string }

// benchPrograms builds the programs to compare: the empty function first.
func benchPrograms(b *testing.B) []benchProgram {
	b.Helper()
	var out []benchProgram
	for _, from := range [][3]string{{benchEmpty, "../internal/e2e", "./empty"}, {benchExport, ".", "."}} {
		p := benchProgram{from[0], filepath.Join(b.TempDir(), from[0])}
		cmd := exec.CommandContext(b.Context(), "go", append(released, "-o", p.path, from[2])...)
		cmd.Dir = from[1]
		if text, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("cannot build the %s function: %v\n%s", p.name, err, text)
		}
		out = append(out, p)
	}
	return out
}

// BenchmarkStart compares the size of the programs, and the CPU time from their start until they serve.
func BenchmarkStart(b *testing.B) {
	programs := benchPrograms(b)
	cpu := map[string][]float64{}
	for b.Loop() {
		for _, p := range programs {
			s := p.start(b)
			cpu[p.name] = append(cpu[p.name], s.cpu(b)/1e3)
			s.stop()
		}
	}
	b.ReportMetric(0, "ns/op")
	printRow("Program", "Size", "CPU until it serves")
	printRow("---", "---", "---")
	for _, p := range programs {
		info, err := os.Stat(p.path)
		if err != nil {
			b.Fatal(err)
		}
		printRow(p.name, fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), fmt.Sprintf("%.1f ms", median(cpu[p.name])))
	}
}

// BenchmarkCheckFile measures the command check with one file.
func BenchmarkCheckFile(b *testing.B) {
	program := benchPrograms(b)[1].path
	var wall, cpu []float64
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), program, "check", "../example/connection-strings/composition.yaml")
		begin := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("no errors")) {
			b.Fatalf("%v\n%s", err, out)
		}
		wall = append(wall, time.Since(begin).Seconds()*1e3)
		cpu = append(cpu, (cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Seconds()*1e3)
	}
	b.ReportMetric(median(wall), "wall-ms")
	b.ReportMetric(median(cpu), "cpu-ms")
	b.ReportMetric(0, "ns/op")
}
