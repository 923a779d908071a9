package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// ErrUnknownMethod is the error for a method that the server does not have.
var ErrUnknownMethod = errors.New("the server has no such method")

// An InvalidError is about the parameters of a request.
type InvalidError struct{ Err error }

// Error returns the cause.
func (e *InvalidError) Error() string { return e.Err.Error() }

// A Message is a notification to the client, or a request whose result is not needed.
type Message struct {
	Method  string
	Params  any
	Request bool
}

// clientCapabilities are those that change what the server sends.
type clientCapabilities struct {
	Workspace struct {
		WorkspaceEdit struct {
			DocumentChanges         bool      `json:"documentChanges"`
			ChangeAnnotationSupport *struct{} `json:"changeAnnotationSupport"`
		} `json:"workspaceEdit"`
		DidChangeWatchedFiles struct {
			DynamicRegistration bool `json:"dynamicRegistration"`
		} `json:"didChangeWatchedFiles"`
	} `json:"workspace"`
	TextDocument struct {
		Completion struct {
			CompletionItem struct {
				SnippetSupport bool `json:"snippetSupport"`
			} `json:"completionItem"`
		} `json:"completion"`
	} `json:"textDocument"`
}

// Params are the parameters of all methods.
type params struct {
	Capabilities     clientCapabilities `json:"capabilities"`
	RootURI          string             `json:"rootUri"`
	WorkspaceFolders []struct {
		URI string `json:"uri"`
	} `json:"workspaceFolders"`
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
	ContentChanges []struct {
		Range *Range `json:"range"`
		Text  string `json:"text"`
	} `json:"contentChanges"`
	Position Position `json:"position"`
	Range    *Range   `json:"range"`
	NewName  string   `json:"newName"`
	Context  struct {
		IncludeDeclaration bool     `json:"includeDeclaration"`
		Only               []string `json:"only"`
	} `json:"context"`
	Changes []struct {
		URI string `json:"uri"`
	} `json:"changes"`
}

// Handle answers a request, or takes note of a notification. It also returns the notifications that the client gets
// before the answer.
func (s *Server) Handle(ctx context.Context, method string, raw json.RawMessage) (result any, out []Message, err error) {
	var p params
	if len(raw) > 0 && json.Unmarshal(raw, &p) != nil {
		return nil, nil, &InvalidError{errors.New("the parameters are not those of the protocol")}
	}
	switch method {
	case "initialize":
		return s.initialize(&p), nil, nil
	case "textDocument/didOpen":
		s.set(p.TextDocument.URI, p.TextDocument.Version, newText(p.TextDocument.Text))
	case "textDocument/didChange":
		return nil, nil, s.change(&p)
	case "textDocument/didClose":
		s.close(p.TextDocument.URI)
	case "initialized":
		return nil, s.watch(), nil
	case "workspace/didChangeWatchedFiles":
		for _, c := range p.Changes {
			s.changed(s.nameOf(c.URI))
		}
		s.workspace.List()
	case "textDocument/didSave", "workspace/didChangeConfiguration":
	default:
		if ask, ok := asks[method]; ok {
			b := s.open[p.TextDocument.URI]
			if b == nil {
				return nil, nil, &InvalidError{fmt.Errorf("cannot find %s: it is not open", p.TextDocument.URI)}
			}
			return ask(ctx, s.view(ctx, b, p.Position.Line), &p)
		}
		if strings.HasPrefix(method, "$/") {
			return nil, nil, nil // which may be ignored
		}
		return nil, nil, ErrUnknownMethod
	}
	return nil, nil, nil
}

// watch asks the client to tell when a file changes outside of the editor, if it can.
func (s *Server) watch() []Message {
	if !s.client.Workspace.DidChangeWatchedFiles.DynamicRegistration {
		return nil
	}
	watchers := []any{map[string]any{"globPattern": "**/*.{yaml,yml}"}, map[string]any{"globPattern": "**/" + files.SettingsFile}}
	registration := map[string]any{"id": "files", "method": "workspace/didChangeWatchedFiles",
		"registerOptions": map[string]any{"watchers": watchers}}
	return []Message{{Method: "client/registerCapability", Params: map[string]any{"registrations": []any{registration}}, Request: true}}
}

// show returns a message that the client shows to the person.
func show(severity int, text string) Message {
	return Message{Method: "window/showMessage", Params: map[string]any{"type": severity, "message": text}}
}

// change applies the changes of a text in their order.
func (s *Server) change(p *params) error {
	b := s.open[p.TextDocument.URI]
	if b == nil {
		return &InvalidError{fmt.Errorf("cannot change %s: it is not open", p.TextDocument.URI)}
	}
	t := b.text
	for _, c := range p.ContentChanges {
		if c.Range == nil {
			t = newText(c.Text)
			continue
		}
		t = t.replace(*c.Range, c.Text)
	}
	s.set(p.TextDocument.URI, p.TextDocument.Version, t)
	return nil
}

// Publish returns the diagnostics of open files that the client does not have yet. A file that is not open any more has
// none.
func (s *Server) Publish(ctx context.Context) (out []Message) {
	send := func(uri string, version *int, list []Diagnostic) {
		text, err := json.Marshal(list)
		if key := fmt.Sprint(version == nil, string(text)); err == nil && s.published[uri] != key {
			s.published[uri] = key
			out = append(out, Message{Method: "textDocument/publishDiagnostics",
				Params: map[string]any{"uri": uri, "version": version, "diagnostics": list}})
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(s.open)) {
		b := s.open[uri]
		list := s.diagnose(ctx, b)
		if ctx.Err() != nil {
			return out
		}
		send(uri, &b.version, list)
	}
	for _, uri := range slices.Sorted(maps.Keys(s.published)) {
		if s.open[uri] == nil {
			send(uri, nil, []Diagnostic{})
			delete(s.published, uri)
		}
	}
	problem := ""
	if err := s.workspace.Problem(); err != nil {
		problem = err.Error()
	}
	if problem != s.problem && problem != "" {
		out = append(out, show(severityError, problem))
	}
	s.problem = problem
	return out
}

// asks answer the requests about a position or a range of an open file.
var asks = map[string]func(ctx context.Context, v *view, p *params) (any, []Message, error){
	"textDocument/hover": func(ctx context.Context, v *view, p *params) (any, []Message, error) {
		if h := v.hover(ctx, v.text.document(p.Position)); h != nil {
			return h, nil, nil
		}
		return nil, nil, nil
	},
	"textDocument/completion": func(_ context.Context, v *view, p *params) (any, []Message, error) {
		return v.completions(p.Position), nil, nil
	},
	"textDocument/definition": func(_ context.Context, v *view, p *params) (any, []Message, error) {
		return v.definitionAt(v.text.document(p.Position)), nil, nil
	},
	"textDocument/references": func(_ context.Context, v *view, p *params) (any, []Message, error) {
		return v.referencesAt(v.text.document(p.Position), p.Context.IncludeDeclaration), nil, nil
	},
	"textDocument/prepareRename": func(_ context.Context, v *view, p *params) (any, []Message, error) {
		_, o, err := v.renameable(v.text.document(p.Position))
		if err != nil {
			return nil, nil, &InvalidError{err}
		}
		return map[string]any{"range": v.text.editorRange(o.in), "placeholder": o.name}, nil, nil
	},
	"textDocument/rename": func(_ context.Context, v *view, p *params) (any, []Message, error) {
		r, err := v.rename(v.text.document(p.Position), p.NewName)
		if err != nil {
			return nil, nil, &InvalidError{err}
		}
		edit, messages := v.renamed(r)
		return edit, messages, nil
	},
	"textDocument/codeAction": func(_ context.Context, v *view, p *params) (any, []Message, error) {
		wanted := func(kind string) bool {
			return len(p.Context.Only) == 0 || slices.ContainsFunc(p.Context.Only, func(only string) bool { return strings.HasPrefix(kind, only) })
		}
		return v.actions(*cmp.Or(p.Range, &Range{}), wanted), nil, nil
	},
	"textDocument/inlayHint": func(_ context.Context, v *view, p *params) (any, []Message, error) {
		return v.hints(*cmp.Or(p.Range, &Range{})), nil, nil
	},
	"textDocument/semanticTokens/full": func(_ context.Context, v *view, _ *params) (any, []Message, error) {
		return v.semanticTokens(), nil, nil
	},
	"textDocument/documentSymbol": func(_ context.Context, v *view, _ *params) (any, []Message, error) {
		return v.outline(), nil, nil
	},
	"textDocument/formatting": func(_ context.Context, v *view, _ *params) (any, []Message, error) {
		return v.format(nil), nil, nil
	},
	"textDocument/rangeFormatting": func(_ context.Context, v *view, p *params) (any, []Message, error) {
		return v.format(p.Range), nil, nil
	},
}

// completions returns what can be written at a position.
func (v *view) completions(at Position) []CompletionItem {
	p, snippets := v.text.document(at), v.client.TextDocument.Completion.CompletionItem.SnippetSupport
	items := []CompletionItem{}
	if e, offset := v.expr(p); e != nil {
		return append(items, e.complete(offset, snippets)...)
	}
	return append(items, v.completeField(p, snippets)...)
}

// renamed returns an edit that the client knows. A client without annotations shows a message.
func (v *view) renamed(r *renaming) (*WorkspaceEdit, []Message) {
	b := v.open[v.uriOf(v.name)]
	can := v.client.Workspace.WorkspaceEdit
	if !can.DocumentChanges || can.ChangeAnnotationSupport == nil || r.warning == nil {
		var out []Message
		if r.warning != nil {
			out = append(out, show(severityWarning, r.warning.Description))
		}
		return &WorkspaceEdit{Changes: map[string][]TextEdit{b.uri: r.edits}}, out
	}
	const id = "rename"
	for i := range r.edits {
		r.edits[i].AnnotationID = id
	}
	d := DocumentEdit{Edits: r.edits}
	d.TextDocument.URI, d.TextDocument.Version = b.uri, &b.version
	return &WorkspaceEdit{Documents: []DocumentEdit{d}, Annotations: map[string]ChangeAnnotation{id: *r.warning}}, nil
}

// initialize takes note of the client, and returns what the server can do.
func (s *Server) initialize(p *params) any {
	s.client = p.Capabilities
	root := p.RootURI
	if len(p.WorkspaceFolders) > 0 {
		root = p.WorkspaceFolders[0].URI
	}
	if root != "" {
		s.workspace = files.NewWorkspace(s.system, cmp.Or(s.nameOf(root), "."))
	}
	return map[string]any{
		"serverInfo": map[string]any{"name": "function-export"},
		"capabilities": map[string]any{
			"positionEncoding":           "utf-16",
			"textDocumentSync":           map[string]any{"openClose": true, "change": 2, "save": true},
			"hoverProvider":              true,
			"completionProvider":         map[string]any{"triggerCharacters": []string{".", "[", "'", "\"", ":", " ", "-"}},
			"definitionProvider":         true,
			"referencesProvider":         true,
			"renameProvider":             map[string]any{"prepareProvider": true},
			"codeActionProvider":         map[string]any{"codeActionKinds": []string{"quickfix", "source.fixAll"}},
			"inlayHintProvider":          true,
			"documentSymbolProvider":     true,
			"documentFormattingProvider": true, "documentRangeFormattingProvider": true,
			"semanticTokensProvider": map[string]any{
				"full": true, "legend": map[string]any{"tokenTypes": tokenTypes, "tokenModifiers": tokenModifiers},
			},
		},
	}
}
