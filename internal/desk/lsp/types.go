package lsp

// This file has the parts of the Language Server Protocol 3.17 that the server uses, with its names. They are our own,
// because go.lsp.dev/protocol links four modules, among them another JSON and another JSON-RPC, and has a type for
// everything that a client may say; this server needs few of them.

// A Position is a line and a UTF-16 unit in it, both counted from 0.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// A Range ends before its end.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// A Location is a range of a file.
type Location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

// A TextEdit replaces a range.
type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// A WorkspaceEdit changes files.
type WorkspaceEdit struct {
	Changes map[string][]TextEdit `json:"changes"`
}

// A Diagnostic is one of the command check.
type Diagnostic struct {
	Range           Range             `json:"range"`
	Severity        int               `json:"severity"` // 1 for an error, 2 for a warning
	Code            string            `json:"code"`
	CodeDescription map[string]string `json:"codeDescription"`
	Source          string            `json:"source"`
	Message         string            `json:"message"`
}

// Markdown is a text for people.
type Markdown struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

func markdown(text string) *Markdown {
	if text == "" {
		return nil
	}
	return &Markdown{"markdown", text}
}

// A Hover is shown at a word.
type Hover struct {
	Contents *Markdown `json:"contents"`
	Range    Range     `json:"range"`
}

// A CompletionItem is one of several texts that may be meant.
type CompletionItem struct {
	Label            string    `json:"label"`
	Kind             int       `json:"kind"`
	Detail           string    `json:"detail,omitempty"`
	Documentation    *Markdown `json:"documentation,omitempty"`
	SortText         string    `json:"sortText,omitempty"`
	FilterText       string    `json:"filterText,omitempty"`
	InsertTextFormat int       `json:"insertTextFormat,omitempty"`
	TextEdit         *TextEdit `json:"textEdit"`
}

// The kinds of completions, and the format of those with places to fill in.
const (
	kindMethod   = 2
	kindFunction = 3
	kindField    = 5
	kindVariable = 6
	kindModule   = 9
	kindProperty = 10
	kindValue    = 12
	kindEnum     = 20

	formatSnippet = 2
)

// A Symbol is a named part of a file.
type Symbol struct {
	Name           string   `json:"name"`
	Detail         string   `json:"detail,omitempty"`
	Kind           int      `json:"kind"`
	Range          Range    `json:"range"`
	SelectionRange Range    `json:"selectionRange"`
	Children       []Symbol `json:"children,omitempty"`
}

// An InlayHint is a text that the editor shows between those of the file.
type InlayHint struct {
	Position    Position `json:"position"`
	Label       string   `json:"label"`
	Kind        int      `json:"kind"` // 1 for a type
	PaddingLeft bool     `json:"paddingLeft"`
}

// A CodeAction is a fix.
type CodeAction struct {
	Title       string         `json:"title"`
	Kind        string         `json:"kind"`
	Diagnostics []Diagnostic   `json:"diagnostics"`
	IsPreferred bool           `json:"isPreferred"`
	Edit        *WorkspaceEdit `json:"edit"`
}
