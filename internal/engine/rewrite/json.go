package rewrite

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
)

// maxDepth is the maximum number of levels of JSON. Each level may need sorting, which copies it.
const maxDepth = 100

// tokenFuel is the cost of reading and writing a value in JSON, with its name.
const tokenFuel = 6

// validWeighs is the cost of validating a byte, in copied bytes.
const validWeighs = 2

// Why a value cannot be merged, as the end of a sentence. The texts contain no part of the value, unlike
// errors of encoding/json, which quote it.
var (
	errNotObject  = errors.New("is not a JSON object")
	errNotText    = errors.New("has a string that is not Unicode text: it cannot be kept unchanged")
	errTooDeep    = errors.New("nests JSON deeper than " + strconv.Itoa(maxDepth) + " levels")
	errDuplicates = errors.New("has an object with two members of the same name: the result would be undefined")
)

// parseObject returns the members of a JSON object as canonical JSON. Canonical JSON is compact, its
// members are sorted, numbers are unchanged, and '<', '>' and '&' are not escaped. null has no members.
//
// An object is refused if encoding/json would change it silently. If two members have the same
// name, encoding/json uses the last one. It also changes strings that are not Unicode.
func parseObject(b *budget.Budget, raw []byte) (map[string][]byte, error) {
	raw = bytes.Trim(raw, " \t\r\n") // the white space of JSON
	if err := b.Spend(budget.Counted(1, validWeighs*len(raw))); err != nil {
		return nil, err
	}
	if string(raw) == "null" {
		return nil, nil
	}
	if !bytes.HasPrefix(raw, []byte("{")) || !json.Valid(raw) {
		return nil, errNotObject
	}
	if !utf8.Valid(raw) || hasLoneSurrogate(raw) {
		return nil, errNotText
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return nil, errNotObject
	}
	return parseMembers(b, d, 1)
}

// parseMembers reads the members of an object and its closing brace. The opening brace is already read.
func parseMembers(b *budget.Budget, d *json.Decoder, depth int) (map[string][]byte, error) {
	members := map[string][]byte{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, errNotObject
		}
		name, _ := t.(string)
		if _, twice := members[name]; twice {
			return nil, errDuplicates
		}
		if members[name], err = appendNext(b, nil, d, depth); err != nil {
			return nil, err
		}
	}
	return members, parseEnd(d)
}

// parseEnd reads a closing brace or bracket.
func parseEnd(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return errNotObject
	}
	return nil
}

// appendNext reads the next value, and appends it as canonical JSON.
func appendNext(b *budget.Budget, out []byte, d *json.Decoder, depth int) ([]byte, error) {
	t, err := d.Token()
	if err != nil {
		return nil, errNotObject
	}
	text, _ := t.(string)
	if err := b.Spend(budget.Counted(tokenFuel, charactersWeigh*len(text))); err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, t), nil
	case json.Number:
		return append(out, t.String()...), nil
	case string:
		return appendString(out, t), nil
	}
	if depth++; depth > maxDepth {
		return nil, errTooDeep
	}
	if t == json.Delim('{') {
		members, err := parseMembers(b, d, depth)
		if err != nil {
			return nil, err
		}
		return appendObject(b, out, members)
	}
	out = append(out, '[')
	for i := 0; d.More(); i++ {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendNext(b, out, d, depth); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), parseEnd(d)
}

// appendObject appends an object with these members, sorted by name.
func appendObject(b *budget.Budget, out []byte, members map[string][]byte) ([]byte, error) {
	size := 0
	for name, raw := range members {
		size += len(name) + len(raw)
	}
	if err := b.Spend(budget.Counted(len(members), size)); err != nil {
		return nil, err
	}
	out = append(out, '{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(appendString(out, name), ':'), members[name]...)
	}
	return append(out, '}'), nil
}

func appendString(out []byte, s string) []byte {
	b := bytes.NewBuffer(out)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) //nolint:errchkjson // a string and a buffer do not fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// plain returns the value of a key for canonical JSON: the text of a string, an empty value for null,
// and any other JSON unchanged.
func plain(raw []byte) []byte {
	switch {
	case string(raw) == "null":
		return nil
	case raw[0] == '"':
		var s string
		_ = json.Unmarshal(raw, &s) // it is valid, because appendString wrote it
		return []byte(s)
	}
	return raw
}

// hasLoneSurrogate reports whether valid JSON escapes only one half of a UTF-16 pair, for example
// \ud800. Such a half is not a character.
func hasLoneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // to the escaped character
		switch surrogate(raw[i:]) {
		case low:
			return true
		case high:
			i += len(`uXXXX`) // to the backslash of the other half
			if raw[i] != '\\' || surrogate(raw[i+1:]) != low {
				return true
			}
		}
	}
	return false
}

const (
	high = 0xd800 >> 10
	low  = 0xdc00 >> 10
)

// surrogate returns high or low if this half of a pair follows a backslash, and any other number if none does.
func surrogate(raw []byte) int {
	if raw[0] != 'u' {
		return 0
	}
	n, _ := strconv.ParseUint(string(raw[1:5]), 16, 16) // valid JSON has four digits here
	return int(n >> 10)
}
