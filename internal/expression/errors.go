package expression

import (
	"slices"
	"strings"
)

// Waiting is the error of an expression that needs an input which is not there
// yet: a composed resource that is not observed, a key that has no value, a
// source that was not read. It is told from a failure by this type alone.
type Waiting struct {
	// Inputs that are missing, in CEL's words and sorted, for example
	// resources.db.status.endpoint. They come from the source of the expression,
	// never from its data.
	Inputs []string
}

// NewWaiting returns an error that waits for the inputs.
func NewWaiting(inputs ...string) *Waiting {
	inputs = slices.Clone(inputs)
	slices.Sort(inputs)
	return &Waiting{Inputs: slices.Compact(inputs)}
}

// Error names the inputs. It holds no data.
func (w *Waiting) Error() string { return "waiting for " + strings.Join(w.Inputs, ", ") }

// Failed is the error of an expression that cannot be evaluated, however long
// one waits.
type Failed struct {
	// Path of the expression, with the line and column of the part that failed.
	Path string

	// Reason, and how to mend it. It holds no data, only what the source of the
	// expression says and the types of values.
	Reason string
}

// Error names the place and the reason. It holds no data.
func (f *Failed) Error() string {
	if f.Path == "" {
		return f.Reason
	}
	return f.Path + ": " + f.Reason
}
