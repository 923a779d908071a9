package wire

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// A form is who reads bytes.
type form string

const (
	whereItLies form = "where it lies"
	byProtobuf  form = "by protobuf"
	refused     form = "refused"
)

// A quirk is something that the bytes of a message can have. sent is a Struct, or a
// whole request.
type quirk struct {
	reason string
	sent   []byte
	want   form
}

// long is a field with a tag that is longer than it needs to be.
func long(tag uint64, more int, rest ...byte) []byte { return append(overlong(tag, more), rest...) }

// overlong is a varint with so many bytes more than it needs, for one that needs one.
func overlong(v uint64, more int) []byte {
	out := []byte{byte(v) | 0x80}
	for range more - 1 {
		out = append(out, 0x80)
	}
	return append(out, 0)
}

// unknown are fields that no message here has, one of each wire type.
func unknown() map[string][]byte {
	const num = 900
	return map[string][]byte{
		"varint":    varint(num, 7),
		"fixed32":   tagged(num, protowire.Fixed32Type, []byte{1, 2, 3, 4}),
		"fixed64":   tagged(num, protowire.Fixed64Type, []byte{1, 2, 3, 4, 5, 6, 7, 8}),
		"bytes":     sub(num, []byte{0xff}),
		"group":     tagged(num, protowire.StartGroupType, protowire.AppendTag(varint(1, 1), num, protowire.EndGroupType)),
		"one byte":  varint(15, 1),
		"one bytes": sub(15, []byte("a")),
	}
}

// valueQuirks are Values.
func valueQuirks() map[string]quirk {
	nan := func(bits uint64) []byte { return tagged(2, protowire.Fixed64Type, protowire.AppendFixed64(nil, bits)) }
	out := map[string]quirk{
		"string":                   {"plain", textOf("a"), whereItLies},
		"empty string":             {"plain", textOf(""), whereItLies},
		"NaN":                      {"a number like others", nan(math.Float64bits(math.NaN())), whereItLies},
		"Inf":                      {"a number like others", nan(math.Float64bits(math.Inf(-1))), whereItLies},
		"-0":                       {"a number like others", nan(1 << 63), whereItLies},
		"null":                     {"plain", varint(1, 0), whereItLies},
		"true":                     {"plain", varint(4, 1), whereItLies},
		"false":                    {"an encoder writes a oneof's zero, too", varint(4, 0), whereItLies},
		"empty object":             {"plain", objectOf(), whereItLies},
		"empty list":               {"plain", listOf(), whereItLies},
		"list":                     {"short ones are looked through", listOf(textOf("a"), varint(1, 0), listOf(), objectOf()), whereItLies},
		"long list":                {"long ones are indexed", listOf(slices.Repeat([][]byte{textOf("abc"), objectOf()}, 40)...), whereItLies},
		"length of two bytes":      {"it is the same length", []byte{3<<3 | 2, 0x81, 0, 'a'}, whereItLies},
		"length of ten bytes":      {"it is the same length", append([]byte{3<<3 | 2}, append(overlong(1, 9), 'a')...), whereItLies},
		"no kind":                  {"null, for protobuf", nil, byProtobuf},
		"two kinds":                {"the last one counts", message(textOf("a"), varint(4, 1)), byProtobuf},
		"two kinds, object last":   {"the last one counts", message(textOf("a"), objectOf(fieldOf("b", textOf("b")))), byProtobuf},
		"kind twice":               {"the last one counts", message(textOf("a"), textOf("b")), byProtobuf},
		"object twice":             {"protobuf merges the two", message(objectOf(fieldOf("a", textOf("a"))), objectOf(fieldOf("b", textOf("b")))), byProtobuf},
		"list twice":               {"protobuf appends the second", message(listOf(textOf("a")), listOf(textOf("b"))), byProtobuf},
		"null of 5":                {"an open enum", varint(1, 5), byProtobuf},
		"null of -1":               {"an enum is 64 bits on the wire", varint(1, math.MaxUint64), byProtobuf},
		"null in two bytes":        {"over-long", append([]byte{1 << 3}, overlong(0, 1)...), byProtobuf},
		"bool of 2":                {"true", varint(4, 2), byProtobuf},
		"bool of 300":              {"true", varint(4, 300), byProtobuf},
		"bool in two bytes":        {"over-long", append([]byte{4 << 3}, overlong(1, 1)...), byProtobuf},
		"bool in ten bytes":        {"over-long", append([]byte{4 << 3}, overlong(0, 9)...), byProtobuf},
		"bool in eleven bytes":     {"no varint is that long", append([]byte{4 << 3}, overlong(0, 10)...), refused},
		"bool cut off":             {"its byte is missing", []byte{4 << 3}, refused},
		"bool without an end":      {"its last byte is missing", []byte{4 << 3, 0x80}, refused},
		"number cut off":           {"it has seven bytes of eight", nan(0)[:8], refused},
		"number and a byte":        {"the byte is a tag of its own", append(nan(0), 0), refused},
		"string beyond the end":    {"longer than what is there", []byte{3<<3 | 2, 2, 'a'}, refused},
		"object beyond the end":    {"longer than what is there", []byte{5<<3 | 2, 9, 'a'}, refused},
		"length overflows":         {"more than 64 bits", append([]byte{3<<3 | 2}, append(slices.Repeat([]byte{0xff}, 9), 2)...), refused},
		"length of 2^63":           {"no int", append([]byte{3<<3 | 2}, append(slices.Repeat([]byte{0x80}, 9), 1)...), refused},
		"length without an end":    {"its last byte is missing", []byte{3<<3 | 2, 0x80}, refused},
		"invalid UTF-8":            {"a string has to be UTF-8", textOf("\xff"), refused},
		"half a rune":              {"a string has to be UTF-8", textOf("\xe2\x82"), refused},
		"surrogate":                {"a string has to be UTF-8", textOf("\xed\xa0\x80"), refused},
		"invalid UTF-8 in a list":  {"also there", listOf(textOf("a"), textOf("\xff")), refused},
		"invalid UTF-8 overridden": {"also if another kind counts", message(textOf("\xff"), varint(4, 1)), refused},
		"string as varint":         {"an unknown field", varint(3, 1), byProtobuf},
		"bool as bytes":            {"an unknown field", sub(4, []byte("a")), byProtobuf},
		"number as varint":         {"an unknown field", varint(2, 1), byProtobuf},
		"number as fixed32":        {"an unknown field", tagged(2, protowire.Fixed32Type, []byte{1, 2, 3, 4}), byProtobuf},
		"list of an empty Value":   {"null, for protobuf", sub(6, sub(1)), byProtobuf},
		"unknown in a list":        {"protobuf keeps it", sub(6, sub(1, textOf("a")), varint(15, 1)), byProtobuf},
		"tag in two bytes":         {"over-long", append(long(3<<3|2, 1), 1, 'a'), byProtobuf},
		"tag in five bytes":        {"over-long", append(long(3<<3|2, 4), 1, 'a'), byProtobuf},
		"tag of field 0":           {"there is none", []byte{0<<3 | 2, 0}, refused},
		"tag of 2^32":              {"no number of a field", append(protowire.AppendVarint(nil, 1<<35|2), 0), refused},
		"reserved wire type":       {"6 is none", []byte{3<<3 | 6, 0}, refused},
	}
	for i := range 17 {
		text := []byte("seventeen letters")
		text[i] = 0xff
		out[fmt.Sprintf("invalid UTF-8 at %d", i)] = quirk{"wherever it is", str(3, string(text)), refused}
	}
	for name, field := range unknown() {
		out["unknown "+name] = quirk{"protobuf keeps it", message(textOf("a"), field), byProtobuf}
		out["only unknown "+name] = quirk{"protobuf keeps it", field, byProtobuf}
	}
	return out
}

// structQuirks are Structs.
func structQuirks() map[string]quirk {
	a, b := fieldOf("a", textOf("a")), fieldOf("b", textOf("b"))
	key, value := str(1, "a"), sub(2, textOf("a"))
	large := manyFields(60, 60)
	out := map[string]quirk{
		"empty":                    {"plain", nil, whereItLies},
		"plain":                    {"plain", message(b, a), whereItLies},
		"empty key":                {"a name like others", fieldOf("", textOf("a")), whereItLies},
		"key twice":                {"the last one counts", message(a, b, fieldOf("a", listOf())), whereItLies},
		"large":                    {"indexed", large, whereItLies},
		"large, keys twice":        {"the last one of each counts", manyFields(60, 20), whereItLies},
		"large, one key":           {"the last one counts", manyFields(60, 1), whereItLies},
		"large, few fields":        {"not indexed", manyFields(16, 16), whereItLies},
		"just indexed":             {"at the border", manyFields(17, 17), whereItLies},
		"large in large":           {"each has an index of its own", message(large, fieldOf("in", objectOf(large)), fieldOf("list", listOf(objectOf(large)))), whereItLies},
		"100 levels":               {"plain", nested(100, false), whereItLies},
		"128 levels":               {"as deep as is read here", nested(128, false), whereItLies},
		"129 levels":               {"protobuf's from here on", nested(129, false), byProtobuf},
		"128 levels of lists":      {"as deep as is read here", nested(128, true), whereItLies},
		"129 levels of lists":      {"protobuf's from here on", nested(129, true), byProtobuf},
		"value before key":         {"an entry is a message", sub(1, value, key), byProtobuf},
		"key in an entry twice":    {"the last one counts", sub(1, str(1, "b"), key, value), byProtobuf},
		"value in an entry twice":  {"protobuf merges the two", sub(1, key, sub(2, objectOf(a)), sub(2, objectOf(b))), byProtobuf},
		"key behind both":          {"the last one counts", sub(1, key, value, str(1, "b")), byProtobuf},
		"no key":                   {"the empty one", sub(1, value), byProtobuf},
		"no value":                 {"null", sub(1, key), byProtobuf},
		"empty entry":              {"null, by the empty name", sub(1), byProtobuf},
		"entry as varint":          {"an unknown field", varint(1, 1), byProtobuf},
		"key as varint":            {"an unknown field", sub(1, varint(1, 1), value), byProtobuf},
		"value as varint":          {"an unknown field", sub(1, key, varint(2, 1)), byProtobuf},
		"tag of an entry, long":    {"over-long", append(long(1<<3|2, 2), protowire.AppendBytes(nil, message(key, value))...), byProtobuf},
		"tag of a key, long":       {"over-long", sub(1, long(1<<3|2, 1, 1, 'a'), value), byProtobuf},
		"length of an entry, long": {"it is the same length", append([]byte{1<<3 | 2}, append(overlong(uint64(len(key)+len(value)), 3), message(key, value)...)...), whereItLies},
		"invalid UTF-8 in a key":   {"a string has to be UTF-8", fieldOf("\xff", textOf("a")), refused},
		"invalid in the middle":    {"also behind others, and in front", message(a, fieldOf("\xff", textOf("a")), b), refused},
		"entry beyond the end":     {"longer than what is there", []byte{1<<3 | 2, 9, 1<<3 | 2}, refused},
		"key beyond the entry":     {"longer than its entry, not than what is there", message(sub(1, []byte{1<<3 | 2, 9, 'a'}), large), refused},
		"value beyond the entry":   {"longer than its entry, not than what is there", message(sub(1, key, []byte{2<<3 | 2, 9}), large), refused},
		"group without an end":     {"it has to have one", message(a, protowire.AppendTag(nil, 15, protowire.StartGroupType)), refused},
		"end without a group":      {"it has to have one", message(a, protowire.AppendTag(nil, 15, protowire.EndGroupType)), refused},
		"group with another's end": {"it has to be its own", message(a, protowire.AppendTag(protowire.AppendTag(nil, 15, protowire.StartGroupType), 14, protowire.EndGroupType)), refused},
		"a zero byte":              {"no tag", append(slices.Clone(a), 0), refused},
		"a tag alone":              {"what it is of is missing", append(slices.Clone(a), 1<<3|2), refused},
	}
	for name, field := range unknown() {
		out["unknown "+name] = quirk{"protobuf keeps it", message(field, a), byProtobuf}
		out["unknown "+name+" in an entry"] = quirk{"protobuf drops it", sub(1, key, value, field), byProtobuf}
	}
	for name, q := range valueQuirks() {
		out["Value: "+name] = quirk{q.reason, message(a, fieldOf("value", q.sent)), q.want}
	}
	return out
}

// requestQuirks are requests.
func requestQuirks() map[string]quirk {
	s := fieldOf("a", textOf("a"))
	resource := sub(1, s)
	empty := message(keyedBy(2, "a"))
	in := places["desired resource"]
	out := map[string]quirk{
		"3300 levels":           {"nearly as deep as protobuf goes: three messages each", in(nested(3300, false)), byProtobuf},
		"4990 levels of lists":  {"nearly as deep as protobuf goes: two messages each", in(nested(4990, true)), byProtobuf},
		"5000 levels":           {"deeper than protobuf goes", in(nested(5000, false)), refused},
		"10001 levels":          {"deeper than protobuf goes", in(nested(10001, false)), refused},
		"10001 levels of lists": {"deeper than protobuf goes", in(nested(10001, true)), refused},
		"nothing":               {"plain", nil, whereItLies},
		"all empty":             {"plain", message(sub(1), sub(2), sub(3), sub(4), sub(5), keyedBy(8, "a"), keyedBy(9, "a")), whereItLies},
		"another order":         {"protobuf promises none", message(keyedBy(9, "a"), sub(5, s), keyedBy(8, "a", sub(1)), sub(3), sub(1, str(1, "t")), sub(2)), whereItLies},
		"meta":                  {"protobuf's own, which is small", sub(1, str(1, "t"), str(1, "u"), varint(2, 1), sub(2, []byte{2, 3, 0x80, 1}), varint(9, 1)), whereItLies},
		"meta twice":            {"protobuf merges the two", message(sub(1, str(1, "t")), sub(1, varint(2, 1))), byProtobuf},
		"invalid UTF-8 in meta": {"a string has to be UTF-8", sub(1, str(1, "\xff")), refused},
		"observed twice":        {"protobuf merges the two", message(sub(2, sub(1, resource)), sub(2, empty)), byProtobuf},
		"desired twice":         {"protobuf merges the two", message(sub(3, keyedBy(2, "a", resource)), sub(3, keyedBy(2, "b"))), byProtobuf},
		"input twice":           {"protobuf merges the two", message(sub(4, s), sub(4, fieldOf("b", varint(1, 0)))), byProtobuf},
		"context twice":         {"protobuf merges the two", message(sub(5, s), sub(5)), byProtobuf},
		"composite twice":       {"protobuf merges the two", sub(2, sub(1, resource), sub(1, varint(3, 1))), byProtobuf},
		"resource twice":        {"protobuf merges the two", sub(2, sub(1, resource, sub(1, fieldOf("b", textOf("b"))))), byProtobuf},
		"empty resource twice":  {"also if the first is empty", sub(3, keyedBy(2, "a", sub(1), sub(1, s))), byProtobuf},
		"name twice":            {"the last one counts, and nothing is merged", sub(3, keyedBy(2, "a", resource, varint(3, 1)), keyedBy(2, "b"), keyedBy(2, "a", sub(1, fieldOf("b", textOf("b"))))), whereItLies},
		"detail twice":          {"the last one counts", sub(2, sub(1, keyedBy(2, "k", []byte("1")), keyedBy(2, "k", []byte("2")))), whereItLies},
		"details of any bytes":  {"they are no string", sub(2, sub(1, keyedBy(2, "k", []byte("\xff\x00")), keyedBy(2, "", nil))), whereItLies},
		"detail without value":  {"empty, for protobuf", sub(2, sub(1, sub(2, str(1, "k")))), byProtobuf},
		"detail's value first":  {"an entry is a message", sub(2, sub(1, sub(2, sub(2, []byte("v")), str(1, "k")))), byProtobuf},
		"invalid name":          {"a string has to be UTF-8", sub(2, keyedBy(2, "\xff", resource)), refused},
		"invalid detail":        {"a string has to be UTF-8", sub(2, sub(1, keyedBy(2, "\xff", nil))), refused},
		"invalid required":      {"a string has to be UTF-8", keyedBy(8, "\xff"), refused},
		"invalid schema":        {"a string has to be UTF-8", keyedBy(9, "\xff"), refused},
		"ready of 2":            {"plain", sub(2, sub(1, varint(3, 2))), whereItLies},
		"ready of 100":          {"an open enum", sub(2, sub(1, varint(3, 100))), whereItLies},
		"ready of 0":            {"no encoder writes it", sub(2, sub(1, varint(3, 0))), whereItLies},
		"ready of 300":          {"an open enum", sub(3, sub(1, varint(3, 300))), byProtobuf},
		"ready of -1":           {"an enum is 64 bits on the wire", sub(3, sub(1, varint(3, math.MaxUint64))), byProtobuf},
		"ready in two bytes":    {"over-long", sub(3, sub(1, append([]byte{3 << 3}, overlong(1, 1)...))), byProtobuf},
		"ready of 1281":         {"its second byte is the tag of a field, too", sub(3, sub(1, varint(3, 1281), []byte{0})), refused},
		"ready twice":           {"the last one counts", sub(3, sub(1, varint(3, 1), varint(3, 2))), byProtobuf},
		"ready of 0, then 1":    {"the last one counts", sub(3, sub(1, varint(3, 0), varint(3, 1))), byProtobuf},
		"ready cut off":         {"its byte is missing", sub(3, sub(1, []byte{3 << 3})), refused},
		"ready as bytes":        {"an unknown field", sub(3, sub(1, sub(3, []byte("a")))), byProtobuf},
		"extra resources":       {"nobody reads them here", keyedBy(6, "a", sub(1, resource)), whereItLies},
		"invalid extra":         {"a string has to be UTF-8", keyedBy(6, "\xff", sub(1, resource)), refused},
		"credentials":           {"nobody reads them here", keyedBy(7, "a", sub(1, keyedBy(1, "k", []byte("v")))), whereItLies},
		"invalid credentials":   {"a string has to be UTF-8", keyedBy(7, "a", sub(1, keyedBy(1, "\xff", []byte("v")))), refused},
		"credentials cut off":   {"longer than what is there", []byte{7<<3 | 2, 9, 0}, refused},
		"a group without end":   {"protobuf looks for it", message(sub(5, s), protowire.AppendTag(nil, 900, protowire.StartGroupType)), refused},
		"an end without group":  {"protobuf refuses it", message(sub(5, s), protowire.AppendTag(nil, 900, protowire.EndGroupType)), refused},
		"number too large":      {"numbers of fields end at 2^29-1", message(sub(5, s), []byte{0xfd, 0xfd, 0xfd, 0xfd, 0x18, 0, 0, 0, 0}), refused},
		"field 0":               {"there is none", message(sub(5, s), []byte{2, 0}), refused},
		"required twice":        {"the last one counts, and nothing is appended", message(keyedBy(8, "a", sub(1, resource), sub(1)), keyedBy(8, "a", sub(1))), whereItLies},
		"required without key":  {"an entry is a message", sub(8, sub(2, sub(1, resource))), byProtobuf},
		"required with ready":   {"nobody reads it here", keyedBy(8, "a", sub(1, keyedBy(2, "k", []byte("v")), resource, varint(3, 1))), whereItLies},
		"required of another":   {"an unknown field", keyedBy(8, "a", sub(1, resource), sub(2, resource)), byProtobuf},
		"schema name twice":     {"the last one counts", message(keyedBy(9, "a", sub(1, s)), keyedBy(9, "a")), whereItLies},
		"schema in it twice":    {"protobuf merges the two", keyedBy(9, "a", sub(1, s), sub(1, fieldOf("b", textOf("b")))), byProtobuf},
		"schema of another":     {"an unknown field", keyedBy(9, "a", sub(2, s)), byProtobuf},
		"schema empty":          {"looked for, and there without a field", keyedBy(9, "a", sub(1)), whereItLies},
		"tag in two bytes":      {"over-long", append(long(4<<3|2, 1), 0), byProtobuf},
		"observed as varint":    {"an unknown field, which nobody reads", varint(2, 1), whereItLies},
		"resources as varint":   {"an unknown field", sub(2, varint(2, 1)), byProtobuf},
		"composite beyond":      {"longer than its State, not than what is there", message(sub(2, []byte{1<<3 | 2, 9}), sub(5, s, s, s)), refused},
		"composite one beyond":  {"what follows would do for its last byte", message([]byte{2<<3 | 2, 3, 1<<3 | 2, 2, 3 << 3}, sub(5, s)), refused},
		"and by a long length":  {"what follows would do for its last byte", message([]byte{2<<3 | 2, 4, 1<<3 | 2, 0x82, 0, 3 << 3}, sub(5, s)), refused},
		"a byte too few":        {"cut off", message(sub(2, sub(1, resource)), sub(5, s))[:17], refused},
	}
	levels := map[string]func(field []byte) []byte{
		"a request":           func(field []byte) []byte { return message(sub(5, s), field) },
		"a State":             func(field []byte) []byte { return message(sub(3, keyedBy(2, "a", resource), field)) },
		"a named resource":    func(field []byte) []byte { return message(sub(3, keyedBy(2, "a", resource, field))) },
		"a composite":         func(field []byte) []byte { return message(sub(3, sub(1, field, resource))) },
		"an entry":            func(field []byte) []byte { return sub(3, sub(2, str(1, "a"), sub(2, resource), field)) },
		"a detail":            func(field []byte) []byte { return sub(2, sub(1, sub(2, str(1, "a"), sub(2), field))) },
		"a required resource": func(field []byte) []byte { return keyedBy(8, "a", sub(1, resource, field)) },
		"an entry of schemas": func(field []byte) []byte { return sub(9, str(1, "a"), sub(2, sub(1, s)), field) },
		"a schema":            func(field []byte) []byte { return keyedBy(9, "a", sub(1, s), field) },
	}
	for level, in := range levels {
		want := byProtobuf
		if level == "a request" { // which is not carried on
			want = whereItLies
		}
		for name, field := range unknown() {
			out["unknown "+name+" in "+level] = quirk{"protobuf keeps or drops it", in(field), want}
		}
	}
	return out
}

// quirks are all of them, with every Struct in every place.
func quirks() map[string]quirk {
	out := maps.Clone(requestQuirks())
	for name, q := range structQuirks() {
		for place, in := range places {
			out[place+": "+name] = quirk{q.reason, in(q.sent), q.want}
		}
	}
	return out
}

func TestQuirks(t *testing.T) {
	for name, q := range quirks() {
		t.Run(name, func(t *testing.T) {
			obeys(t, q.sent)
			got := byProtobuf
			r, err := Decode(q.sent)
			switch {
			case err != nil:
				got = refused
			case r.decoded == nil:
				got = whereItLies
			}
			if got != q.want {
				t.Errorf("%s: read %s, want %s", q.reason, got, q.want)
			}
		})
	}
}
