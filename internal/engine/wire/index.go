package wire

import (
	"bytes"
	"cmp"
	"slices"
)

// Large objects and lists are indexed when they are first read, so that reading all of them does not take quadratic
// time. Smaller ones are faster to scan. A text of at least copiedText bytes is copied only once, even if it is read
// often.
const (
	indexedFields = 16                // objects with more fields are indexed
	indexedBytes  = indexedFields * 8 // and are not smaller: an entry without a name, with a null, has 8 bytes
	indexedList   = 64                // in bytes: an element is found only by its index
	copiedText    = 1 << 10
)

// indexes are the indexes of the objects, lists and texts of one request, by their positions. They are for
// one goroutine.
type indexes struct {
	sent    []byte // the request
	pages   []string
	structs map[*byte][]field
	lists   map[*byte][][]byte
	texts   map[*byte]string
}

// pageBytes is the size of a page: a part of a request that is copied as a whole, because most texts of a request are
// short, and the memory for a copy of its own costs more than the copy.
const pageBytes = 4 << 10

// copy returns a copy of a name or a text of the request, which is a part of a copied page. So a text that is kept does
// not keep the request.
func (in *indexes) copy(b []byte) string {
	from := len(in.sent) - cap(b)
	n := from / pageBytes
	at := n * pageBytes
	if from+len(b) > at+pageBytes || len(b) == 0 {
		return string(b)
	}
	if in.pages == nil {
		in.pages = make([]string, (len(in.sent)+pageBytes-1)/pageBytes)
	}
	if in.pages[n] == "" {
		in.pages[n] = string(in.sent[at:min(at+pageBytes, len(in.sent))])
	}
	return in.pages[n][from-at : from-at+len(b)]
}

// text of a Value that is a string.
func (in *indexes) text(sent []byte) string {
	b := text(sent)
	if len(b) < copiedText {
		return in.copy(b)
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

// A field of a Struct: its name, the body of its Value, and its position.
type field struct {
	name, value []byte
	at          int
}

// indexed returns the fields of an indexed object.
func (in *indexes) indexed(sent []byte) ([]field, bool) {
	if len(sent) < indexedBytes {
		return nil, false
	}
	fields, ok := in.structs[&sent[0]]
	return fields, ok
}

// find finds the last field with a name, which takes precedence.
func (in *indexes) find(sent []byte, name string) (value []byte, ok bool) {
	if fields, ok := in.indexed(sent); ok {
		i, ok := slices.BinarySearchFunc(fields, name, func(f field, name string) int { return compare(f.name, name) })
		if !ok {
			return nil, false
		}
		return fields[i].value, true
	}
	n := 0
	for b := sent; len(b) > 0; n++ {
		var key, v []byte
		if key, v, b = entry(b, tagEntry); string(key) == name {
			value, ok = v, true
		}
	}
	if n > indexedFields {
		in.many(sent)
	}
	return value, ok
}

// compare does not copy a, unlike strings.Compare and bytes.Compare.
func compare(a []byte, b string) int {
	switch {
	case string(a) < b:
		return -1
	case string(a) > b:
		return 1
	}
	return 0
}

// fields returns the fields in the order of their names, each once. Those of a small object are in the given memory.
func (in *indexes) fields(sent []byte, few *[indexedFields]field) []field {
	if count(sent) > indexedFields {
		return in.many(sent)
	}
	return lastOfEach(appendFields(few[:0], sent))
}

// many returns the fields of an object that is indexed.
func (in *indexes) many(sent []byte) []field {
	fields, ok := in.indexed(sent)
	if !ok {
		fields = lastOfEach(appendFields(make([]field, 0, count(sent)), sent))
		if in.structs == nil {
			in.structs = map[*byte][]field{}
		}
		in.structs[&sent[0]] = fields
	}
	return fields
}

func appendFields(to []field, sent []byte) []field {
	for b := sent; len(b) > 0; {
		f := field{at: len(to)}
		f.name, f.value, b = entry(b, tagEntry)
		to = append(to, f)
	}
	return to
}

// lastOfEach sorts fields, and keeps the last of those with one name.
func lastOfEach(fields []field) []field {
	slices.SortFunc(fields, func(a, b field) int { return cmp.Or(bytes.Compare(a.name, b.name), b.at-a.at) })
	return slices.CompactFunc(fields, func(a, b field) bool { return bytes.Equal(a.name, b.name) })
}

// size returns the size of an object: the number of distinct names.
func (in *indexes) size(sent []byte) int {
	if fields, ok := in.indexed(sent); ok {
		return len(fields)
	}
	var names [indexedFields][]byte
	n, all := 0, 0
	for b := sent; len(b) > 0; all++ {
		if all == indexedFields {
			return len(in.many(sent))
		}
		names[n], _, b = entry(b, tagEntry)
		if !slices.ContainsFunc(names[:n], func(name []byte) bool { return bytes.Equal(name, names[n]) }) {
			n++
		}
	}
	return n
}

// length returns the length of a list.
func (in *indexes) length(sent []byte) int {
	if len(sent) >= indexedList {
		return len(in.elements(sent))
	}
	return count(sent)
}

// count counts the entries of an object or a list.
func count(sent []byte) int {
	n := 0
	for b := sent; len(b) > 0; n++ {
		_, b = take(b, tagEntry)
	}
	return n
}

// element returns an element of a list: the body of its Value.
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

// elements returns the elements of a large list.
func (in *indexes) elements(sent []byte) [][]byte {
	if all, ok := in.lists[&sent[0]]; ok {
		return all
	}
	all := make([][]byte, 0, count(sent))
	for b := sent; len(b) > 0; {
		var e []byte
		e, b = take(b, tagEntry)
		all = append(all, e)
	}
	if in.lists == nil {
		in.lists = map[*byte][][]byte{}
	}
	in.lists[&sent[0]] = all
	return all
}
