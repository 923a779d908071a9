// The program reconciler has Crossplane's reconciler of composites, its composer, and its runner of functions, all of
// them unchanged, over an API server in memory. It is built as a package of Crossplane's module, because these parts
// are internal there. It reads commands from its standard input, one JSON document a line, and answers each with one
// line. The command to reconcile says what fails, at which call.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A command is a line of the input.
type command struct {
	Op  string    `json:"op"`
	Now time.Time `json:"now"`

	Object map[string]any  `json:"object"` // of put, patch and delete
	Patch  json.RawMessage `json:"patch"`

	Faults []fault         `json:"faults"` // of reconcile
	Late   map[string]bool `json:"late"`   // kinds whose informer is late
}

// A fault is what happens at a call, which is counted from the start of the reconcile, or at each call that has a verb and
// a kind of object, as "apply Secret".
type fault struct {
	At   int    `json:"at"`
	Call string `json:"call"`
	Kind string `json:"kind"`
}

// A call is a call of the API server or of the function, with its outcome.
type call struct {
	Verb   string `json:"verb"`
	Object string `json:"object"`
	Fault  string `json:"fault,omitempty"`
	Error  string `json:"error,omitempty"`
}

// An answer is a line of the output.
type answer struct {
	Events  []event `json:"events,omitempty"`
	Calls   []call  `json:"calls,omitempty"`
	Crashed bool    `json:"crashed,omitempty"`
	Error   string  `json:"error,omitempty"`   // of the reconcile
	Refused string  `json:"refused,omitempty"` // of a command of a user
	Requeue string  `json:"requeue,omitempty"`
}

func main() {
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(function string) error {
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	in.Buffer(nil, 16<<20)
	s, err := newSession(function)
	if err != nil {
		return err
	}
	for in.Scan() {
		var c command
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			return err
		}
		a, err := s.do(c)
		if err != nil {
			return err
		}
		a.Events, s.api.events = s.api.events, nil
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return in.Err()
}

// do carries out a command. Its error ends the program: a user's mistake is in the answer.
func (s *session) do(c command) (answer, error) {
	s.api.now = c.Now.UTC().Truncate(time.Second)
	refused := func(err error) (answer, error) {
		if err != nil {
			return answer{Refused: err.Error()}, nil
		}
		return answer{}, nil
	}
	u := &unstructured.Unstructured{Object: c.Object}
	switch c.Op {
	case "reset":
		s.reset()
		return answer{}, nil
	case "put":
		_, err := s.api.apply(u, "user", true, false)
		return refused(err)
	case "patch":
		return refused(s.api.mergePatch(keyOf(u), c.Patch))
	case "delete":
		return refused(s.api.delete(keyOf(u), "", false))
	case "collect":
		return refused(s.api.collect())
	case "compose":
		return refused(s.compose(u))
	case "crash":
		s.restart()
		return answer{}, nil
	case "reconcile":
		return s.reconcile(c), nil
	}
	return answer{}, fmt.Errorf("unknown command %q", c.Op)
}

// A crash ends the reconciler, as if its process were killed.
type crash struct{}

// point is a call at which something may happen. A change of the API server is refused with a conflict, or with an
// error before or after its effect.
func (s *session) point(verb string, k key, writes bool, do func() error) error {
	kind := cmp.Or(s.faults[len(s.calls)], s.refused[verb+" "+k.Kind])
	c := call{Verb: verb, Object: k.Kind + "/" + k.Name, Fault: kind}
	if k.Kind == "" {
		c.Object = k.Name
	}
	defer func() { s.calls = append(s.calls, c) }()
	err := s.outcome(kind, k, writes, do)
	if err != nil {
		c.Error = err.Error()
	}
	return err
}

func (s *session) outcome(kind string, k key, writes bool, do func() error) error {
	switch kind {
	case "conflict":
		if writes {
			return conflict(k)
		}
		return errUnavailable
	case "error":
		return errUnavailable
	case "lost":
		_ = do()
		return errUnavailable
	case "time-out":
		_ = do()
		return fmt.Errorf("%w: the server was unable to return a response in the time allotted", errTimeout)
	case "crash":
		panic(crash{})
	case "late crash":
		_ = do()
		panic(crash{})
	}
	return do()
}

var errTimeout = errors.New("timeout")

func keyOfFunction(name string) key {
	return key{schema.GroupVersionKind{}, types.NamespacedName{Name: name}}
}
