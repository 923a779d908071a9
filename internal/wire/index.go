package wire

import (
	"bytes"
	"cmp"
	"slices"
)

// Objects of more than indexedFields, none of which is smaller than indexedBytes, and
// lists are indexed when they are first read, so that reading all of them takes no
// square of their size. Smaller ones are quicker looked through. A text of keptText and
// more is copied once, however often it is read.
const (
	indexedFields = 16
	indexedBytes  = indexedFields * 8 // an entry without a name, with a null
	indexedList   = 64                // in bytes: an element is found by its index only
	keptText      = 1 << 10
)

// indexes of the objects, lists and texts of one request, by where they begin. They are
// for one goroutine.
type indexes struct {
	structs map[*byte][]field
	lists   map[*byte][][]byte
	texts   map[*byte]string
}

// text of a Value that is a string.
func (in *indexes) text(sent []byte) string {
	b := text(sent)
	if len(b) < keptText {
		return string(b)
	}
	t, ok := in.texts[&b[0]]
	if !ok {
		t = string(b)
		if in.texts == nil {
			in.texts = map[*byte]string{}
		}
		in.texts[&b[0]] = t
	}
	return t
}

// A field of a Struct: its name, the body of its Value, and which one it is.
type field struct {
	name, value []byte
	at          int
}

// find the last field of a name, which is the one that counts.
func (in *indexes) find(sent []byte, name string) (value []byte, ok bool) {
	large := len(sent) >= indexedBytes
	if large {
		if fields, ok := in.structs[&sent[0]]; ok {
			i, ok := slices.BinarySearchFunc(fields, name, func(f field, name string) int { return compare(f.name, name) })
			if !ok {
				return nil, false
			}
			return fields[i].value, true
		}
	}
	n := 0
	for b := sent; len(b) > 0; n++ {
		key, v, rest := entry(b, tagEntry)
		if string(key) == name {
			value, ok = v, true
		}
		b = rest
	}
	if large && n > indexedFields {
		in.fields(sent)
	}
	return value, ok
}

func compare(a []byte, b string) int {
	switch {
	case string(a) < b:
		return -1
	case string(a) > b:
		return 1
	}
	return 0
}

// fields in the order of their names, each once.
func (in *indexes) fields(sent []byte) []field {
	large := len(sent) >= indexedBytes
	if large {
		if fields, ok := in.structs[&sent[0]]; ok {
			return fields
		}
	}
	fields := make([]field, 0, count(sent))
	for b := sent; len(b) > 0; {
		name, value, rest := entry(b, tagEntry)
		fields = append(fields, field{name, value, len(fields)})
		b = rest
	}
	index := large && len(fields) > indexedFields
	fields = lastOfEach(fields)
	if index {
		if in.structs == nil {
			in.structs = map[*byte][]field{}
		}
		in.structs[&sent[0]] = fields
	}
	return fields
}

// lastOfEach sorts fields, and keeps of those with one name the last.
func lastOfEach(fields []field) []field {
	slices.SortFunc(fields, func(a, b field) int { return cmp.Or(bytes.Compare(a.name, b.name), a.at-b.at) })
	out := fields[:0]
	for i, f := range fields {
		if i+1 == len(fields) || !bytes.Equal(f.name, fields[i+1].name) {
			out = append(out, f)
		}
	}
	return out
}

// size of an object: how many names its fields have.
func (in *indexes) size(sent []byte) int {
	if len(sent) >= indexedBytes {
		if fields, ok := in.structs[&sent[0]]; ok {
			return len(fields)
		}
	}
	var names [indexedFields][]byte
	n, all := 0, 0
	for b := sent; len(b) > 0; all++ {
		if all == indexedFields {
			return len(in.fields(sent))
		}
		names[n], _, b = entry(b, tagEntry)
		if !slices.ContainsFunc(names[:n], func(name []byte) bool { return bytes.Equal(name, names[n]) }) {
			n++
		}
	}
	return n
}

// length of a list.
func (in *indexes) length(sent []byte) int {
	if len(sent) >= indexedList {
		return len(in.elements(sent))
	}
	return count(sent)
}

// count the entries of an object or a list.
func count(sent []byte) int {
	n := 0
	for b := sent; len(b) > 0; n++ {
		_, b = take(b, tagEntry)
	}
	return n
}

// element of a list: the body of its Value.
func (in *indexes) element(sent []byte, i int) []byte {
	if len(sent) >= indexedList {
		return in.elements(sent)[i]
	}
	e, rest := take(sent, tagEntry)
	for range i {
		e, rest = take(rest, tagEntry)
	}
	return e
}

// elements of a large list.
func (in *indexes) elements(sent []byte) [][]byte {
	if all, ok := in.lists[&sent[0]]; ok {
		return all
	}
	all := make([][]byte, 0, count(sent))
	for b := sent; len(b) > 0; {
		e, rest := take(b, tagEntry)
		all, b = append(all, e), rest
	}
	if in.lists == nil {
		in.lists = map[*byte][][]byte{}
	}
	in.lists[&sent[0]] = all
	return all
}
