package render

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// The reason of the condition about an invalid input, and the start of its message.
const (
	reasonInvalid = "InvalidInput"
	invalidInput  = "invalid input: "
)

// diagnose returns the diagnostics of the input of a step, in the order of the file, if the function refused the input:
// those of the input alone, or those that the function found with the files. There are none if the position of one
// is unknown.
func (r *run) diagnose(ctx context.Context, step string, rsp *fnv1.RunFunctionResponse) ([]files.Diagnostic, error) {
	s, ok := r.exports[step]
	isInvalid := func(c *fnv1.Condition) bool { return c.GetReason() == reasonInvalid }
	if !ok || !isFatal(rsp) || !slices.ContainsFunc(rsp.GetConditions(), isInvalid) {
		return nil, nil
	}
	env, err := advice.NewEnvironment()
	if err != nil {
		return nil, err
	}
	_, list := s.Compile(ctx, env)
	for _, rs := range rsp.GetResults() {
		if len(list) == 0 && rs.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			list = diagnosticsIn(rs.GetMessage(), s.Input)
		}
	}
	return s.AllInFile(list), nil
}

// placed is a reason with its place in the input, as the function writes it.
var placed = lazy.MustCompile(`^((\w+)[^:\s]*?)(?::(\d+))?(?::(\d+))?: (.+)$`)

// diagnosticsIn returns the diagnostics of a message, or nil if a reason is about no field of the input.
func diagnosticsIn(message string, input map[string]any) diagnostic.List {
	message, ok := strings.CutPrefix(message, invalidInput)
	if !ok {
		return nil
	}
	var out diagnostic.List
	for _, reason := range reasonsOf(message) {
		m := placed.FindStringSubmatch(reason)
		if m == nil || input[m[2]] == nil {
			return nil
		}
		line, _ := strconv.Atoi(m[3]) // 0 if there is none
		column, _ := strconv.Atoi(m[4])
		out = append(out, &diagnostic.Diagnostic{
			Path: m[1], Line: line, Column: column, Rule: diagnostic.Input, Message: m[5],
		})
	}
	return out
}

// say prints a message for a person. If the message has several reasons, or a command that shows more, each has a line
// of its own. A line that cannot be written is lost, because only the objects and the exit code matter.
func (r *run) say(head, message string) {
	text := terminal.ColorsFor(r.stderr).Result(terminal.OneLine(head))
	switch reasons := reasonsOf(terminal.OneLine(message)); {
	case message == "":
	case len(reasons) == 1:
		text += ": " + reasons[0]
	default:
		text += ":\n  " + strings.Join(reasons, "\n  ")
	}
	_, _ = fmt.Fprintln(r.stderr, text)
}

// reasonsOf splits a message at semicolons that are not in quotes.
func reasonsOf(message string) []string {
	var out []string
	start, quoted := 0, false
	for i := range len(message) {
		switch {
		case message[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(message[i:], "; "):
			out = append(out, message[start:i])
			start = i + len("; ")
		}
	}
	return append(out, message[start:])
}
