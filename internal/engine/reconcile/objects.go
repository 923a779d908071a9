package reconcile

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// objects are the exported objects, in the order of the input.
type objects []Object

// add adds an object. Objects that do not fit into any response are kept as they were observed immediately,
// so that their data is not in memory together.
func (list objects) add(o Object) objects {
	if o.footprint.build == nil {
		o.footprint.bytes = o.bytes()
	}
	list = append(list, o)
	total := 0
	for _, o := range list {
		total += o.footprint.bytes
	}
	list.keep(total - limits.ResponseBytes)
	if last := &list[len(list)-1]; last.footprint.build != nil {
		last.Desired = last.footprint.build()
		last.footprint.build = nil // with the data
	}
	return list
}

// bytes of the object and its connection details in a response.
func (o Object) bytes() int {
	n := proto.Size(o.Desired)
	for k, v := range o.ConnectionDetails {
		n += len(k) + v.Len()
	}
	return n
}

func (list objects) keep(excess int) bool {
	if excess <= 0 {
		return false
	}
	var changed []int // the last ones first
	for i := len(list) - 1; i >= 0; i-- {
		if f := &list[i].footprint; f.keep != nil {
			if f.saved == 0 {
				f.saved = f.bytes - f.keep("").bytes()
			}
			changed = append(changed, i)
		}
	}
	slices.SortStableFunc(changed, func(i, j int) int {
		a, b := &list[i], &list[j]
		switch {
		case a.Author && !b.Author:
			return -1
		case b.Author && !a.Author:
			return 1
		}
		return cmp.Compare(b.footprint.saved, a.footprint.saved)
	})
	kept := false
	for _, i := range changed {
		o := &list[i]
		if excess > 0 && o.footprint.saved > 0 {
			excess -= o.footprint.saved
			kept, *o = true, o.asObserved()
		}
	}
	return kept
}

// asObserved returns the object as it was observed, and says why.
func (o Object) asObserved() Object {
	out := o.footprint.keep(fmt.Sprintf("with its %d bytes the response is larger than the %d that Crossplane accepts: "+
		"export fewer keys, or export it in another composite", o.footprint.bytes, limits.ResponseBytes))
	out.Author = o.Author
	out.footprint.bytes = out.bytes()
	return out
}

// Keep keeps objects as they were observed until the response has so many bytes fewer: first those of
// the composite author, and first those that save the most. An object that does not exist is not
// created. Keep reports whether an object was kept.
func (r *Result) Keep(excess int) bool { return objects(r.Objects).keep(excess) }
