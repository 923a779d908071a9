// Command wasm runs the commands on files and the language server where there is no disk, as a page in a browser does:
// it reads texts, command lines and messages of an editor from standard input, and writes what each of them answers.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing/fstest"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/check"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/explain"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/render"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/lsp"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
)

// A Request has the texts of files, command lines, and messages of an editor.
type Request struct {
	Files    map[string]string `json:"files"`
	Commands [][]string        `json:"commands"`
	Messages []Message         `json:"messages"`
}

// A Message is one of the Language Server Protocol.
type Message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// A Response has what the commands printed, and what the language server answered.
type Response struct {
	Results []Result `json:"results"`
	Answers []Answer `json:"answers"`
}

// An Answer is the result for a message, and the diagnostics after it.
type Answer struct {
	Result any    `json:"result"`
	Sent   any    `json:"sent"`
	Failed string `json:"failed"`
}

// A Result is what a command printed.
type Result struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	Code   int    `json:"code"`
}

func main() {
	var in Request
	err := json.NewDecoder(os.Stdin).Decode(&in)
	if err == nil {
		var out *Response
		if out, err = answer(in); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// answer answers a request.
func answer(in Request) (*Response, error) {
	disk := fstest.MapFS{}
	for name, text := range in.Files {
		disk[name] = &fstest.MapFile{Data: []byte(text)}
	}
	system := &files.System{FS: disk}
	out := &Response{}
	for _, command := range in.Commands {
		out.Results = append(out.Results, run(system, command))
	}
	server, err := lsp.NewServer(system)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	for _, m := range in.Messages {
		a := Answer{}
		result, sent, err := server.Handle(ctx, m.Method, m.Params)
		if err != nil {
			a.Failed = err.Error()
		}
		a.Result, a.Sent = result, slices.Concat(sent, server.Publish(ctx))
		out.Answers = append(out.Answers, a)
	}
	return out, nil
}

// run runs a command.
func run(system *files.System, args []string) Result {
	var cli struct {
		Check   check.Command   `cmd:""`
		Render  render.Command  `cmd:""`
		Explain explain.Command `cmd:""`
	}
	var stdout, stderr bytes.Buffer
	k, err := kong.Must(&cli, kong.Writers(&stdout, &stderr), kong.Bind(system),
		kong.BindSingletonProvider(pipeline.NewEngine),
		kong.BindTo(context.Background(), (*context.Context)(nil))).Parse(args)
	if err == nil {
		err = k.Run()
	}
	code := terminal.End(err, &stderr)
	return Result{stdout.String(), stderr.String(), code}
}
