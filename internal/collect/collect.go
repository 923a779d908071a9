// Package collect puts the keys of one object together.
//
// The results of an object's entries come in, one by one and in the order of
// the input; its data comes out whole, or what each missing key waits for and
// why others failed. A key that two entries write is refused, and both are
// named. Nothing empty is ever collected, no value is ever in a text, and no
// key either unless the input itself spells it: a computed one may hold data.
//
// Bytes are counted while they come in. What no object can hold, or no message can say,
// is not collected: ask [Collection.Ended] before the next entry is evaluated.
package collect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// An Entry is where keys come from.
type Entry struct {
	// Path of the entry's expression in the input.
	Path string

	// Key that the entry writes, or empty if its expression computes the keys.
	Key string

	// Optional leaves out what is missing, null or empty.
	Optional bool
}

// A Key is one key of an entry that computes its keys.
type Key struct {
	Name  string
	Value sensitive.Bytes

	// From is the key in words that a text may show, or nil: what the input
	// spells, or where it came from.
	From fmt.Stringer
}

// name is the entry in words.
func (e Entry) name() string {
	if e.Key != "" {
		return fmt.Sprintf("key %q", e.Key)
	}
	return e.Path
}

// A Collection is an object's data while it is put together.
type Collection struct {
	data     map[string]sensitive.Bytes
	writers  map[string]writer
	lastWins bool
	waiting  []string
	failed   []string
	left     int // bytes that values may still have
	ended    bool
}

// New returns an empty collection, with room for n keys. A key that two entries
// write is refused, unless the last one wins.
func New(n int, lastWins bool) *Collection {
	return &Collection{data: make(map[string]sensitive.Bytes, n), writers: make(map[string]writer, n), lastWins: lastWins, left: object.MaxDataBytes}
}

// Ended reports whether nothing more is collected, whatever comes.
func (c *Collection) Ended() bool { return c.ended }

// Bytes that were collected.
func (c *Collection) Bytes() int { return object.MaxDataBytes - max(c.left, 0) }

// failing notes why an entry failed. The last of what a message shows says that it is not
// all.
func (c *Collection) failing(why string) {
	switch n := len(c.failed); {
	case c.ended:
	case n == limits.MessageItems-1:
		c.failed = append(c.failed, "and more: mend these first")
		c.ended = true
	default:
		c.failed = append(c.failed, why)
	}
}

// Value collects the value of an entry's key. ok is false for an entry that has
// no value on purpose, and err why it has none otherwise.
func (c *Collection) Value(e Entry, v sensitive.Bytes, ok bool, err error) {
	switch {
	case err != nil:
		c.fail(e, err)
	case !ok:
	case v.Len() == 0:
		c.wait(e, "a value that is not empty")
	default:
		c.add(writer{entry: &e}, e.Key, v)
	}
}

// Map collects the keys of an entry that computes them, in their order, where
// each has a name of its own. ok and err are as for Value. Keys with an empty
// value wait, as those of Value do.
func (c *Collection) Map(e Entry, keys []Key, ok bool, err error) {
	switch {
	case err != nil:
		c.fail(e, err)
		return
	case !ok:
		return
	case len(keys) == 0:
		c.wait(e, "a key")
		return
	}
	for _, k := range keys {
		switch {
		case c.ended:
			return
		case k.Value.Len() == 0 && k.From != nil:
			c.wait(e, "a value of key "+k.From.String()+" that is not empty")
		case k.Value.Len() == 0:
			c.wait(e, "a value that is not empty")
		case object.ValidateKey(k.Name) != nil:
			c.failing(writer{&e, k.From}.String() + " gives a name that no key can have: it must consist of letters, digits, '-', '_' and '.', 253 at most, and be neither '.' nor begin with '..'")
			return
		default:
			c.add(writer{&e, k.From}, k.Name, k.Value)
		}
	}
}

// A writer is the entry that wrote a key, and what the key is called if the entry
// computes it.
type writer struct {
	entry *Entry
	from  fmt.Stringer
}

// String is the writer in words.
func (w writer) String() string {
	switch {
	case w.entry.Key != "":
		return fmt.Sprintf("%s (key %q)", w.entry.Path, w.entry.Key)
	case w.from != nil:
		return w.entry.Path + " (key " + w.from.String() + ")"
	}
	return w.entry.Path
}

// add a key. Two writers are both named.
func (c *Collection) add(w writer, key string, v sensitive.Bytes) {
	if first, ok := c.writers[key]; ok && !c.lastWins {
		c.failing(fmt.Sprintf("%s and %s both write one key: keep one of them", first, w))
		return
	}
	c.left += c.data[key].Len() - v.Len()
	if c.left < 0 {
		c.failing(fmt.Sprintf("%s: cannot hold more than %d bytes (1 MiB) of data in one object: export fewer keys or shorter values", w.entry.Path, object.MaxDataBytes))
		c.ended = true
		return
	}
	c.writers[key] = w
	c.data[key] = v
}

func (c *Collection) fail(e Entry, err error) {
	var w *expression.Waiting
	if errors.As(err, &w) {
		c.wait(e, w.Inputs...)
		return
	}
	c.failing(err.Error())
}

func (c *Collection) wait(e Entry, inputs ...string) {
	if e.Optional {
		return
	}
	c.waiting = append(c.waiting, e.name()+" for "+strings.Join(inputs, ", "))
}

// Data is what was collected: all of it, and no part of it unless Waiting and
// Failed are empty.
func (c *Collection) Data() map[string]sensitive.Bytes {
	if len(c.waiting) > 0 || len(c.failed) > 0 {
		return nil
	}
	return c.data
}

// Waiting lists the entries that wait and what for, in the order of the input.
// An object that would have no key at all waits, too.
func (c *Collection) Waiting() []string {
	if len(c.waiting) == 0 && len(c.failed) == 0 && len(c.data) == 0 {
		return []string{"it has no key: no optional value is there"}
	}
	return slices.Compact(c.waiting)
}

// Failed lists why entries failed, in the order of the input.
func (c *Collection) Failed() []string { return c.failed }
