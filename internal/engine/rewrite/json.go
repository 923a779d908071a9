package rewrite

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
)

// This file reads values that are JSON objects. Numbers are kept as they are written. The JSON that it writes is
// compact, and has sorted members.

// tokenFuel is the cost of reading and writing a value in JSON, with its name.
const tokenFuel = 6

// Why a value cannot be merged, as the end of a sentence. The texts contain no part of the value, unlike
// errors of encoding/json, which quote it.
var (
	errNotObject = errors.New("is not a JSON object")
	errNotText   = errors.New("has a string that is not Unicode text: it cannot be kept unchanged")
)

// parseObject returns the members of a JSON object. null has no members.
func parseObject(b *budget.Budget, raw []byte) (map[string]any, error) {
	if err := b.Spend(budget.Counted(tokenFuel*bytes.Count(raw, []byte{','})+1, charactersWeigh*len(raw))); err != nil {
		return nil, err
	}
	if !json.Valid(raw) {
		return nil, errNotObject
	}
	var members map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return nil, errNotObject
	}
	// encoding/json replaces what is not Unicode, such as one half of a UTF-16 pair.
	if !utf8.Valid(raw) || bytes.Contains(encodeJSON(members), []byte("\ufffd")) {
		return nil, errNotText
	}
	return members, nil
}

// encodeJSON returns a value that parseObject has read as JSON.
func encodeJSON(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) //nolint:errchkjson // it was JSON
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// memberText returns the value of a key for a member: the text of a string, an empty text for null, and JSON for all
// others.
func memberText(v any) []byte {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return []byte(v)
	}
	return encodeJSON(v)
}
