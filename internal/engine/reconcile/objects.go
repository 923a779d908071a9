package reconcile

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// objects are the exported objects, in the order of the input.
type objects []Object

// add adds an object. Objects that do not fit into any response are kept as they were observed immediately,
// so that their data is not in memory together.
func (list objects) add(o Object) objects {
	o.footprint.bytes = o.bytes()
	list = append(list, o)
	total := 0
	for i := range list {
		total += list[i].footprint.bytes
	}
	list.keep(total - limits.ResponseBytes)
	return list
}

// isKept reports whether the object is desired as it was observed.
func (o *Object) isKept() bool { return o.Desired != nil && o.footprint.at == nil }

// bytes of the object and its connection details in a response.
func (o *Object) bytes() int {
	n := proto.Size(o.Desired)
	for k, v := range o.ConnectionDetails {
		n += len(k) + v.Len()
	}
	return n
}

// keep keeps objects as they were observed, until the response has so many bytes fewer. It reports whether there was
// one.
func (list objects) keep(excess int) (kept bool) {
	for excess > 0 {
		o := list.largest()
		if o == nil {
			break
		}
		excess -= o.footprint.saved
		kept, *o = true, o.asObserved(fmt.Sprintf("with its %d bytes the response is larger than the %d that Crossplane "+
			"accepts: export fewer keys, or export it in another composite", o.footprint.bytes, limits.ResponseBytes))
	}
	return kept
}

// largest returns the object that saves the most bytes if it is kept, first among those of the composite author, or nil
// if no object saves any. Of several, it is the last one.
func (list objects) largest() (out *Object) {
	for i := range list {
		o := &list[i]
		if o.footprint.at != nil && o.footprint.saved == 0 { // measured once, because there may be many
			observed := o.asObserved("")
			if o.footprint.saved = o.footprint.bytes - observed.footprint.bytes; o.footprint.saved <= 0 {
				o.footprint.at = nil
			}
		}
		switch {
		case o.footprint.at == nil:
		case out == nil, o.Author && !out.Author, o.Author == out.Author && o.footprint.saved >= out.footprint.saved:
			out = o
		}
	}
	return out
}

// asObserved returns the object as it was observed, with the reason.
func (o *Object) asObserved(why string) Object {
	out := hold(o.footprint.at, evaluate.Reasons{Failed: []string{why}})
	out.Author = o.Author
	out.footprint.bytes = out.bytes()
	return out
}

// Keep keeps objects as they were observed until the response has so many bytes fewer: first those of
// the composite author, and first those that save the most. An object that does not exist is not
// created. Keep reports whether an object was kept.
func (r *Result) Keep(excess int) bool { return objects(r.Objects).keep(excess) }
