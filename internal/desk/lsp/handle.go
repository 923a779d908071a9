package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// An Error has a code of JSON-RPC.
type Error struct {
	Code    int64
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// invalid returns the error about the parameters of a request.
func invalid(format string, args ...any) error {
	return &Error{-32602, fmt.Sprintf(format, args...)}
}

// A Message is a notification to the client.
type Message struct {
	Method string
	Params any
}

// clientCapabilities are those that change what the server sends.
type clientCapabilities struct {
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
	Range    Range    `json:"range"`
	NewName  string   `json:"newName"`
	Context  struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
}

// Handle answers a request, or takes note of a notification. It also returns the notifications that the client gets
// before the answer.
func (s *Server) Handle(ctx context.Context, method string, raw json.RawMessage) (any, []Message, error) {
	var p params
	if len(raw) > 0 && json.Unmarshal(raw, &p) != nil {
		return nil, nil, invalid("the parameters are not those of the protocol")
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
	case "textDocument/didSave": // another program may have written other files
		for _, f := range s.workspace.Files() {
			s.changed(f.Name)
		}
		s.changed(files.SettingsFile)
		s.workspace.List()
	case "initialized", "workspace/didChangeConfiguration", "workspace/didChangeWatchedFiles":
	default:
		return s.ask(ctx, method, &p)
	}
	return nil, nil, nil
}

// A question is about a position or a range of an open file.
type question struct {
	*view
	*params

	ctx context.Context //nolint:containedctx // of the request
	at  int             // of the position
}

// answers are the results of the methods that only ask.
var answers = map[string]func(*question) any{
	"textDocument/hover": (*question).hover, "textDocument/completion": (*question).completion,
	"textDocument/definition": (*question).definition, "textDocument/references": (*question).references,
	"textDocument/codeAction": (*question).actions, "textDocument/inlayHint": (*question).hints,
	"textDocument/semanticTokens/full": (*question).semanticTokens, "textDocument/documentSymbol": (*question).outline,
	"textDocument/formatting": (*question).format,
}

// ask answers a question.
func (s *Server) ask(ctx context.Context, method string, p *params) (any, []Message, error) {
	answer, renames := answers[method], method == "textDocument/rename"
	b := s.open[p.TextDocument.URI]
	switch {
	case strings.HasPrefix(method, "$/"):
		return nil, nil, nil // which may be ignored
	case answer == nil && !renames:
		return nil, nil, &Error{-32601, "there is no method " + method}
	case b == nil:
		return nil, nil, invalid("cannot find %s: it is not open", p.TextDocument.URI)
	}
	q := &question{s.view(ctx, b, p.Position.Line), p, ctx, b.text.offset(p.Position)}
	if q.load(); answer != nil {
		return answer(q), nil, nil
	}
	return q.rename()
}

// show returns a message that the client shows to the person.
func show(severity int, text string) Message {
	return Message{Method: "window/showMessage", Params: map[string]any{"type": severity, "message": text}}
}

// change applies the changes of a text in their order.
func (s *Server) change(p *params) error {
	b := s.open[p.TextDocument.URI]
	if b == nil {
		return invalid("cannot change %s: it is not open", p.TextDocument.URI)
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
	send := func(p map[string]any) {
		out = append(out, Message{Method: "textDocument/publishDiagnostics", Params: p})
	}
	for _, uri := range slices.Sorted(maps.Keys(s.open)) {
		b := s.open[uri]
		if s.workspace.Open(b.name); b.known == s.workspace.Known() { // nothing has changed
			continue
		}
		list := s.diagnose(ctx, b)
		if ctx.Err() != nil {
			return out
		}
		b.known = s.workspace.Known()
		if text, err := json.Marshal(list); err == nil && s.published[uri] != string(text) {
			s.published[uri] = string(text)
			send(map[string]any{"uri": uri, "version": b.version, "diagnostics": list})
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(s.published)) {
		if s.open[uri] == nil {
			delete(s.published, uri)
			send(map[string]any{"uri": uri, "diagnostics": []Diagnostic{}})
		}
	}
	problem := ""
	if err := s.workspace.Problem(); err != nil {
		problem = err.Error()
	}
	if problem != s.problem && problem != "" {
		out = append(out, show(1, problem))
	}
	s.problem = problem
	return out
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
			"completionProvider":         map[string]any{"triggerCharacters": []string{".", "[", "'", "\"", " "}},
			"definitionProvider":         true,
			"referencesProvider":         true,
			"renameProvider":             true,
			"codeActionProvider":         true,
			"inlayHintProvider":          true,
			"documentSymbolProvider":     true,
			"documentFormattingProvider": true,
			"semanticTokensProvider": map[string]any{
				"full": true, "legend": map[string]any{"tokenTypes": tokenTypes, "tokenModifiers": tokenModifiers},
			},
		},
	}
}
