// Package collect collects the keys of one object.
//
// The results of an object's entries are added one by one, in the order of the input. The result is the whole data of
// the object, or the missing input of each waiting key and the reason of each failure. If two entries write one key,
// the error names the key, if it is in the input, and both entries. Empty values are not collected. Texts contain no
// value, and no key that an expression computed, because a computed key may contain data.
//
// Bytes are counted when they are added. Data beyond the size of an object, or of a message, is not collected: call
// [Collection.Ended] before the next entry is evaluated.
package collect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/rewrite"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// An Entry is the entry of the input that writes keys.
type Entry struct {
	Path     string // of the entry's expression in the input
	Key      string // that the entry writes, or empty if its expression computes the keys
	Optional bool   // omits a value that is missing, null or empty
	Lacks    string // the input that is missing if there are no keys; by default, the expression returns none
}

// A Quota is how many keys and bytes the objects of a composite author can still have together. A nil
// quota has no limit.
type Quota struct{ Bytes, Keys int }

// NewQuota returns the quota of all objects of a composite author.
func NewQuota() *Quota { return &Quota{limits.AuthorBytes, limits.AuthorKeys} }

// TooMuch is the message for an exceeded quota.
var TooMuch = fmt.Sprintf("all exports of the composite's author together can have at most %d keys and %d bytes",
	limits.AuthorKeys, limits.AuthorBytes)

// Exceeded reports whether the quota was not sufficient.
func (q *Quota) Exceeded() bool { return q != nil && (q.Bytes < 0 || q.Keys < 0) }

// Spend reports whether the quota was sufficient.
func (q *Quota) Spend(keys, bytes int) bool {
	if q != nil {
		q.Keys -= keys
		q.Bytes -= bytes
	}
	return !q.Exceeded()
}

// A Collection is the data of an object under construction.
type Collection struct {
	data     map[string]sensitive.Bytes
	writers  map[string]writer // of each key
	lastWins bool
	waiting  []waiting
	grouped  map[string]int // indices into waiting, by the missing inputs
	see      string
	failed   []string
	left     int // the bytes that are left for values
	ended    bool
}

// A waiting is a group of entries that wait for the same inputs.
type waiting struct {
	inputs, entries []string
}

// String is a sentence. It names the first entries, and counts the rest.
func (w waiting) String() string {
	named, last := w.entries[:len(w.entries)-1], w.entries[len(w.entries)-1]
	if more := len(w.entries) - limits.MessageItems; more > 0 {
		named, last = w.entries[:limits.MessageItems], fmt.Sprintf("%d more", more)
	}
	if len(named) == 0 {
		return last + " waits for " + strings.Join(w.inputs, ", ")
	}
	return strings.Join(named, ", ") + " and " + last + " wait for " + strings.Join(w.inputs, ", ")
}

// New returns an empty collection for about n keys. If two entries write one key, the last entry wins or the key is
// refused.
func New(n int, lastWins bool) *Collection {
	return &Collection{
		data: make(map[string]sensitive.Bytes, n), writers: make(map[string]writer, n),
		lastWins: lastWins, left: object.MaxDataBytes,
	}
}

// Ended reports whether the collection is full.
func (c *Collection) Ended() bool { return c.ended }

// Bytes returns the number of collected bytes.
func (c *Collection) Bytes() int { return object.MaxDataBytes - max(c.left, 0) }

// Value collects the value of an entry's key. If ok is false, the entry has no value, either intentionally
// or because of err.
func (c *Collection) Value(e Entry, v sensitive.Bytes, ok bool, err error) {
	switch {
	case err != nil:
		c.fail(e, err)
	case !ok:
	case v.Len() == 0:
		c.wait(e, "a value that is not empty (to leave the key out, return optional.none() and set optional: true)")
	default:
		c.add(writer{path: e.Path, literal: true}, e.Key, v)
	}
}

// Map collects the keys of an entry that computes them, in their order. Their names must differ. Messages show the
// origins of a key, if it has any. The arguments ok and err are those of Value, and a key with an empty value waits.
func (c *Collection) Map(e Entry, keys []rewrite.Key, ok bool, err error) {
	switch {
	case err != nil:
		c.fail(e, err)
	case ok && len(keys) == 0:
		c.wait(e, cmp.Or(e.Lacks, "its expression to return a key"))
	case ok:
		c.keys(e, keys)
	}
}

func (c *Collection) keys(e Entry, keys []rewrite.Key) {
	for _, k := range keys {
		w := writer{path: e.Path, origins: k.Origins}
		switch {
		case c.ended:
			return
		case k.Value.Len() == 0 && k.Origins != nil:
			c.wait(e, "a value of key "+k.String()+" that is not empty")
		case k.Value.Len() == 0:
			c.wait(e, "a value that is not empty")
		case object.ValidateKey(k.Name) != nil:
			c.failing(w.String() + " returns an invalid key: a key must consist of at most 253 letters, digits, " +
				"'-', '_' and '.', and must not be '.' or begin with '..'")
			return
		default:
			c.add(w, k.Name, k.Value)
		}
	}
}

// A writer is the path of the entry that wrote a key. The key is literal, or its entry computed it, perhaps from keys
// that messages may show.
type writer struct {
	path    string
	literal bool
	origins []rewrite.Origin
}

func (w writer) String() string {
	if w.origins != nil {
		return w.path + " (key " + rewrite.Key{Origins: w.origins}.String() + ")"
	}
	return w.path
}

// conflict returns the message about two writers of a key. It names the key if the input does.
func conflict(key string, first, second writer) string {
	name := "the same key"
	if first.literal || second.literal {
		name = "key " + strconv.Quote(key)
	}
	text := fmt.Sprintf("%s is written by %s and %s: keep one of them", name, first, second)
	if strings.Contains(first.path, ".dataFrom[") {
		text += ", or set conflictPolicy: LastWins"
	}
	return text
}

func (c *Collection) add(w writer, key string, v sensitive.Bytes) {
	if first, ok := c.writers[key]; ok && !c.lastWins {
		c.failing(conflict(key, first, w))
		return
	}
	c.left += c.data[key].Len() - v.Len()
	if c.left < 0 {
		c.failing(fmt.Sprintf("%s: cannot hold more than %d bytes (1 MiB) of data in one object: "+
			"export fewer keys or shorter values", w.path, object.MaxDataBytes))
		c.ended = true
		return
	}
	c.writers[key], c.data[key] = w, v
}

func (c *Collection) fail(e Entry, err error) {
	var w *expression.Waiting
	if errors.As(err, &w) {
		if c.see == "" && (!e.Optional || w.Required) {
			c.see = w.See
		}
		e.Optional = e.Optional && !w.Required
		c.wait(e, w.Inputs...)
		return
	}
	c.failing(err.Error())
}

// failing adds the reason why an entry failed. The last item of a full message says that there are more.
func (c *Collection) failing(why string) {
	switch n := len(c.failed); {
	case c.ended:
	case n == limits.MessageItems-1:
		c.failed = append(c.failed, "and more: correct these first")
		c.ended = true
	default:
		c.failed = append(c.failed, why)
	}
}

func (c *Collection) wait(e Entry, inputs ...string) {
	if e.Optional {
		return
	}
	name := e.Path
	if e.Key != "" {
		name = fmt.Sprintf("key %q", e.Key)
	}
	missing := strings.Join(inputs, ", ")
	i, ok := c.grouped[missing]
	if !ok {
		i, c.waiting = len(c.waiting), append(c.waiting, waiting{inputs: inputs})
		if c.grouped == nil {
			c.grouped = map[string]int{}
		}
		c.grouped[missing] = i
	}
	if w := &c.waiting[i]; len(w.entries) == 0 || w.entries[len(w.entries)-1] != name {
		w.entries = append(w.entries, name)
	}
}

// Data returns the collected data, or nil if an entry waits or failed.
func (c *Collection) Data() map[string]sensitive.Bytes {
	if len(c.waiting) > 0 || len(c.failed) > 0 {
		return nil
	}
	return c.data
}

// Waiting lists the entries that wait and their missing inputs, in the order of the input. Entries that wait for the
// same inputs are one item. An object without any key also waits.
func (c *Collection) Waiting() []string {
	if len(c.waiting) == 0 && len(c.failed) == 0 && len(c.data) == 0 {
		return []string{"it has no key: all optional values are missing"}
	}
	var out []string
	said := map[string]bool{}
	for _, w := range c.waiting {
		w.inputs = sayOnce(w.inputs, said)
		out = append(out, w.String())
	}
	return out
}

// sayOnce removes what was already said about an object. Only such a text begins with an upper case letter, the one
// of the object's kind. All others are about their input.
func sayOnce(inputs []string, said map[string]bool) []string {
	out := slices.Clone(inputs)
	for i, in := range inputs {
		input, about, _ := strings.Cut(in, " (")
		if about == "" || !unicode.IsUpper(rune(about[0])) {
			continue
		}
		if said[about] {
			out[i] = input
		}
		said[about] = true
	}
	return out
}

// See returns a command that shows more about the first missing input that has one.
func (c *Collection) See() string { return c.see }

// Failed lists the reasons why entries failed, in the order of the input.
func (c *Collection) Failed() []string { return c.failed }
