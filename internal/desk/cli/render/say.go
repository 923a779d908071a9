package render

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
)

// The reason of the condition about an invalid input.
const reasonInvalid = "InvalidInput"

// diagnose returns the diagnostics of the input of a step, in the order of the file, if the function refused the input.
// There are none if the input is only wrong together with the files.
func (in *inputs) diagnose(ctx context.Context, step string, rsp *fnv1.RunFunctionResponse) ([]files.Diagnostic,
	error) {
	s, ok := in.exports[step]
	isInvalid := func(c *fnv1.Condition) bool { return c.GetReason() == reasonInvalid }
	if !ok || world.FatalOf(rsp) == "" || !slices.ContainsFunc(rsp.GetConditions(), isInvalid) {
		return nil, nil
	}
	env, err := advice.NewEnvironment()
	if err != nil {
		return nil, err
	}
	_, list := s.Compile(ctx, env)
	return s.AllInFile(list), nil
}

// A printer prints messages for a person. A line that cannot be written is lost, because only the objects and the exit
// code matter.
type printer struct{ io.Writer }

// response prints the messages of a step. The diagnostics of its input are printed as function-export check does,
// instead of the one line that the function returns.
func (p *printer) response(step string, rsp *fnv1.RunFunctionResponse, diagnostics []files.Diagnostic) {
	invalid := len(diagnostics) > 0
	_ = terminal.PrintText(p, diagnostics) // the exit code tells the result
	for _, rs := range rsp.GetResults() {
		text := rs.GetMessage()
		if rs.GetSeverity() == fnv1.Severity_SEVERITY_FATAL && invalid {
			text = fmt.Sprintf("the input of pipeline step %q has %s", step, terminal.Counted(len(diagnostics), "error",
				"errors"))
		}
		p.say(severityText(rs.GetSeverity()), text)
	}
	for _, c := range rsp.GetConditions() {
		text := c.GetMessage()
		if c.GetReason() == reasonInvalid && world.FatalOf(rsp) != "" {
			text = "" // that of the result
		}
		p.say(fmt.Sprintf("%s=%s %s", c.GetType(), statusText(c.GetStatus()), c.GetReason()), text)
	}
}

// say prints a message. If the message has several reasons, or a command that shows more, each has a line of its own.
func (p *printer) say(head, message string) {
	text := terminal.OneLine(head)
	switch reasons := strings.Split(terminal.OneLine(message), "; "); {
	case message == "":
	case len(reasons) == 1:
		text += ": " + reasons[0]
	default:
		text += ":\n  " + strings.Join(reasons, "\n  ")
	}
	_, _ = fmt.Fprintln(p, text)
}
