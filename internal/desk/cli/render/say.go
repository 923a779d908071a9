package render

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
)

// The reason of the condition about an invalid input.
const reasonInvalid = "InvalidInput"

// respond prints the messages of a step for a person. A line that cannot be written is lost, because only the objects and
// the exit code matter. If the function refused the input, the diagnostics of the input are printed as function-export
// check does, in place of the one line that the function returns. There are none if the input is only wrong together
// with the files.
func (in *inputs) respond(ctx context.Context, step string, rsp *fnv1.RunFunctionResponse, w io.Writer) error {
	s, ok := in.exports[step]
	isInvalid := func(c *fnv1.Condition) bool { return c.GetReason() == reasonInvalid }
	isFatal, invalid := world.FatalOf(rsp) != "", ""
	if ok && isFatal && slices.ContainsFunc(rsp.GetConditions(), isInvalid) {
		env, err := advice.NewEnvironment()
		if err != nil {
			return err
		}
		if _, list := s.Compile(ctx, env); len(list) > 0 {
			_ = terminal.PrintText(w, s.AllInFile(list))
			invalid = fmt.Sprintf("the input of pipeline step %q has %s", step, terminal.Counted(len(list), "error", "errors"))
		}
	}
	for _, rs := range rsp.GetResults() {
		text := rs.GetMessage()
		if rs.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			text = cmp.Or(invalid, text)
		}
		say(w, severityText(rs.GetSeverity()), text)
	}
	for _, c := range rsp.GetConditions() {
		text := c.GetMessage()
		if isInvalid(c) && isFatal {
			text = "" // that of the result
		}
		say(w, fmt.Sprintf("%s=%s %s", c.GetType(), statusText(c.GetStatus()), c.GetReason()), text)
	}
	return nil
}

// say prints a message. If the message has several reasons, or a command that shows more, each has a line of its own.
func say(w io.Writer, head, message string) {
	text := terminal.OneLine(head)
	switch reasons := strings.Split(terminal.OneLine(message), "; "); {
	case message == "":
	case len(reasons) == 1:
		text += ": " + reasons[0]
	default:
		text += ":\n  " + strings.Join(reasons, "\n  ")
	}
	_, _ = fmt.Fprintln(w, text)
}
