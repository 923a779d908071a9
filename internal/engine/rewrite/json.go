package rewrite

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
)

// memberFuel is the cost of reading and writing a member of an object.
const memberFuel = 6

// parseWeighs is the cost of validating a byte, in copied bytes.
const parseWeighs = 2

// Why a value cannot be merged, as the end of a sentence. The texts contain no part of the value, unlike
// errors of encoding/json, which quote it.
var (
	errNotObject  = errors.New("is not a JSON object")
	errNotText    = errors.New("has a string that is not Unicode text: it cannot be kept unchanged")
	errDuplicates = errors.New("has two members of the same name: the result would be undefined")
)

// parseObject returns the members of a JSON object, as they are written but without white space. null has no members.
// An object is refused if encoding/json would silently change it: if two members have the same name, or a name or a
// string is not Unicode.
func parseObject(b *budget.Budget, raw []byte) (map[string]json.RawMessage, error) {
	if err := b.Spend(budget.Counted(1, parseWeighs*len(raw))); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	start, err := d.Token()
	if err != nil || start != nil && start != json.Delim('{') {
		return nil, errNotObject
	}
	members := map[string]json.RawMessage{}
	for start != nil && d.More() {
		if err := b.Spend(memberFuel); err != nil {
			return nil, err
		}
		name, value, err := nextMember(d)
		if err != nil {
			return nil, err
		}
		if _, twice := members[name]; twice {
			return nil, errDuplicates
		}
		members[name] = value
	}
	if start != nil {
		_, err = d.Token()
	}
	if _, end := d.Token(); err != nil || !errors.Is(end, io.EOF) {
		return nil, errNotObject
	}
	return members, nil
}

// nextMember reads the name and the value of a member.
func nextMember(d *json.Decoder) (string, json.RawMessage, error) {
	token, err := d.Token()
	name, _ := token.(string)
	var value json.RawMessage
	if err != nil || d.Decode(&value) != nil {
		return "", nil, errNotObject
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return "", nil, errNotObject
	}
	value = compact.Bytes()
	if !utf8.Valid(value) || strings.ContainsRune(name, utf8.RuneError) || bytes.ContainsRune(plain(value), utf8.RuneError) {
		return "", nil, errNotText
	}
	return name, value, nil
}

// objectOf returns an object with these members, sorted by name.
func objectOf(b *budget.Budget, members map[string]json.RawMessage) ([]byte, error) {
	size := 0
	for name, raw := range members {
		size += len(name) + len(raw)
	}
	if err := b.Spend(budget.Counted(len(members), size)); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(members)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// plain returns the value of a key for JSON: the text of a string, an empty value for null, and any other JSON
// unchanged.
func plain(raw []byte) []byte {
	switch {
	case string(raw) == "null":
		return nil
	case raw[0] == '"':
		var s string
		_ = json.Unmarshal(raw, &s) // it is a valid string
		return []byte(s)
	}
	return raw
}
