package main

import (
	"fmt"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// TestRenderScripts runs the command line with the real function.
func TestRenderScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/render/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fn": func(ts *testscript.TestScript, neg bool, args []string) {
				ts.Check(ts.Chdir("."))
			},
		},
	})
}

var _ = fmt.Sprint
var _ = kong.New
var _ fnv1.FunctionRunnerServiceServer
