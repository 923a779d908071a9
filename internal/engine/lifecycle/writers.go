package lifecycle

import (
	"fmt"
	"strings"
)

// Writers are the descriptions of all that composes an object, by the object's place. They are only written if there is
// more than one: an object with two writers is a conflict that names both.
type Writers map[Place][]fmt.Stringer

// Add adds a writer.
func (w Writers) Add(at Place, writer fmt.Stringer) { w[at] = append(w[at], writer) }

// At names the writers of a place.
func (w Writers) At(at Place) string {
	texts := make([]string, 0, len(w[at]))
	for _, one := range w[at] {
		texts = append(texts, one.String())
	}
	return strings.Join(texts, " and ")
}
