// Package lsp is a language server for Compositions and inputs: it answers what an editor asks about the text of a file
// that is open in it, and about the files around it. It has the diagnostics of the command check.
//
// It knows the Language Server Protocol's types, but no connection, no file and no process: package cli/lsp reads
// messages from standard input. A file whose YAML is broken, because somebody is just typing it, is read without the
// broken lines, so that everything else in it still works. Examples have made-up values only.
package lsp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// A Server holds the open files of one client. It is not safe for concurrent use.
type Server struct {
	env       *expression.Environment
	system    *files.System
	workspace *files.Workspace
	open      map[string]*buffer // by URI
	former    map[string][]*step // of each file, when its inputs could be read
	published map[string]string  // the diagnostics that the client has, by URI
	problem   string             // that the client has been told
	client    clientCapabilities
	cache     *view // of the file about which the client asked last
}

// A buffer is a file that is open in the editor.
type buffer struct {
	uri, name string
	version   int
	text      text
	known     *files.Knowledge // with which its diagnostics were found
}

// NewServer returns a server for files.
func NewServer(system *files.System) (*Server, error) {
	env, err := advice.NewEnvironment()
	if err != nil {
		return nil, fmt.Errorf("cannot start the language server: %w", err)
	}
	own := *system
	own.Stdin = nil // it has the messages of the client
	own.Texts = maps.Clone(system.Texts)
	if own.Texts == nil {
		own.Texts = map[string]string{}
	}
	return &Server{
		env: env, system: &own, workspace: files.NewWorkspace(&own, ""),
		open: map[string]*buffer{}, former: map[string][]*step{}, published: map[string]string{},
	}, nil
}

// windowsPath matches the path of a file on a drive of Windows.
var windowsPath = regexp.MustCompile(`^/[A-Za-z]:`)

// nameOf returns the name of a file in the system. A system that is not a disk has relative names.
func (s *Server) nameOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Path == "" {
		return uri
	}
	if s.system.Folder == "" || windowsPath.MatchString(u.Path) {
		return strings.TrimPrefix(u.Path, "/")
	}
	return u.Path
}

// uriOf returns the URI of a file: that of the editor, if it is open.
func (s *Server) uriOf(name string) string {
	for uri, b := range s.open {
		if b.name == name {
			return uri
		}
	}
	return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(s.system.Absolute(name), "/")}).String()
}

// set notes that a file is open with a text, or has another one.
func (s *Server) set(uri string, version int, t text) {
	b := &buffer{uri: uri, name: s.nameOf(uri), version: version, text: t}
	s.open[uri] = b
	s.system.Texts[s.system.Absolute(b.name)] = t.string
	s.changed(b.name)
}

// changed notes that a file has another text.
func (s *Server) changed(name string) {
	s.workspace.Change(name)
	s.cache = nil
}

// close notes that a file has the text that was saved.
func (s *Server) close(uri string) {
	if b := s.open[uri]; b != nil {
		delete(s.system.Texts, s.system.Absolute(b.name))
		delete(s.open, uri)
		delete(s.former, b.name)
		s.changed(b.name)
	}
}

// diagnostics returns the diagnostics of a file, as the command check prints them.
func (v *view) diagnostics() []files.Diagnostic {
	out := v.workspace.Diagnostics(v.name)
	for _, s := range v.steps {
		out = append(out, s.Diagnostics...)
	}
	return out
}

// diagnose returns the diagnostics of an open file.
func (s *Server) diagnose(ctx context.Context, b *buffer) []Diagnostic {
	v := s.view(ctx, b, noCursor)
	if ctx.Err() == nil {
		s.former[b.name] = v.steps
	}
	out := make([]Diagnostic, 0, len(v.steps))
	for _, d := range v.diagnostics() {
		out = append(out, v.diagnostic(d))
	}
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(a.Range.Start.Line-b.Range.Start.Line, a.Range.Start.Character-b.Range.Start.Character)
	})
	return out
}
