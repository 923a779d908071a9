package plan

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// A fit is what an object adds to the response, and how it adds less.
type fit struct {
	bytes int                     // of the object and its connection details, about
	build func() *structpb.Struct // what is desired, once it is known to fit
	keep  func(why string) Object // the object as it was observed, or none; nil if it cannot add less
	saved int                     // by keep
}

// add an object. Objects that would not fit into any response are kept as they were
// observed at once, so that their data is not in memory together.
func (r *Result) add(o Object) {
	if o.fit.build == nil {
		o.fit.bytes = o.bytes()
	}
	r.Objects = append(r.Objects, o)
	total := 0
	for _, o := range r.Objects {
		total += o.fit.bytes
	}
	r.Keep(total - limits.ResponseBytes)
	if last := &r.Objects[len(r.Objects)-1]; last.fit.build != nil {
		last.Desired = last.fit.build()
		last.fit.build = nil // with the data
	}
}

// Keep so many objects as they were observed that the response has so many bytes less: those
// that the composite's author asks for before all others, and those before that save the
// most. An object that does not exist is not created. Keep reports whether an object was kept.
func (r *Result) Keep(excess int) bool {
	if excess <= 0 {
		return false
	}
	var changed []int // the last ones first
	for i := len(r.Objects) - 1; i >= 0; i-- {
		if f := &r.Objects[i].fit; f.keep != nil {
			if f.saved == 0 {
				f.saved = f.bytes - f.keep("").bytes()
			}
			changed = append(changed, i)
		}
	}
	slices.SortStableFunc(changed, func(i, j int) int {
		a, b := r.Objects[i], r.Objects[j]
		if a.Tenant != b.Tenant {
			return map[bool]int{true: -1, false: 1}[a.Tenant]
		}
		return cmp.Compare(b.fit.saved, a.fit.saved)
	})
	kept := false
	for _, i := range changed {
		o := &r.Objects[i]
		if excess > 0 && o.fit.saved > 0 {
			excess -= o.fit.saved
			kept, *o = true, o.asObserved()
		}
	}
	return kept
}

// asObserved is the object as it was observed, and why.
func (o Object) asObserved() Object {
	out := o.fit.keep(fmt.Sprintf("with its %d bytes the response is larger than the %d that Crossplane accepts: export less of it, or in another composite", o.fit.bytes, limits.ResponseBytes))
	out.Tenant = o.Tenant
	out.fit.bytes = out.bytes()
	return out
}

// bytes of the object in a response, and of its connection details.
func (o Object) bytes() int {
	n := proto.Size(o.Desired)
	for k, v := range o.ConnectionDetails {
		n += len(k) + v.Len()
	}
	return n
}
