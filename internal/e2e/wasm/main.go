// Command wasm runs the commands on files where there is no disk, as a page in a browser does: it reads texts and
// command lines from standard input, and writes what each command prints.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing/fstest"
	"time"

	"github.com/alecthomas/kong"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/check"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/explain"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/render"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
)

// A Request has the texts of files, and command lines.
type Request struct {
	Files    map[string]string `json:"files"`
	Commands [][]string        `json:"commands"`
}

// A Result is what a command printed.
type Result struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	Code   int    `json:"code"`
}

func main() {
	var in Request
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	disk := fstest.MapFS{}
	for name, text := range in.Files {
		disk[name] = &fstest.MapFile{Data: []byte(text)}
	}
	out := make([]Result, 0, len(in.Commands))
	for _, command := range in.Commands {
		out = append(out, run(&files.System{FS: disk}, command))
	}
	_ = json.NewEncoder(os.Stdout).Encode(out)
}

// run runs a command.
func run(system *files.System, args []string) Result {
	var cli struct {
		Check   check.Command   `cmd:""`
		Render  render.Command  `cmd:""`
		Explain explain.Command `cmd:""`
	}
	var stdout, stderr bytes.Buffer
	k, err := kong.Must(&cli, kong.Writers(&stdout, &stderr), kong.Bind(system, render.FunctionAt(functionAt))).Parse(args)
	if err == nil {
		err = k.Run()
	}
	out := Result{stdout.String(), stderr.String(), 0}
	if code, ok := terminal.ExitCode(err); ok {
		out.Code = code
	} else if err != nil {
		out.Code, out.Stderr = terminal.ExitUnread, out.Stderr+"function-export: error: "+err.Error()+"\n"
	}
	return out
}

// functionAt returns the function to render with.
func functionAt(at time.Time, seed [32]byte) (fnv1.FunctionRunnerServiceServer, error) {
	f, err := function.New(logging.NewNopLogger(), nil)
	if err == nil && !at.IsZero() {
		f.Now = func() time.Time { return at }
		f.Entropy = func() io.Reader { return credential.Seeded{Reader: rand.NewChaCha8(seed)} }
	}
	return f, err
}
