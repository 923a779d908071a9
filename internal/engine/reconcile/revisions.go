package reconcile

import (
	"strconv"

	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// mostRevisions is above the highest revision: a double represents all numbers up to it exactly.
const mostRevisions = 1 << 53

// revisionOf returns the revision of an observed object, or 0 if it does not exist. An object without a valid revision
// has the first one: another step or an earlier version of the function has created it, or another writer has changed
// the annotation.
func revisionOf(observed wire.Struct) int64 {
	if !observed.Exists() {
		return 0
	}
	text := plan.MetadataOf(observed).At("annotations", object.AnnotationRevision).Text()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n >= mostRevisions {
		return 1
	}
	return n
}

// nextRevision returns the revision of an object with this data.
func nextRevision(at *placement, data map[string]sensitive.Bytes) int64 {
	n := revisionOf(at.Observed)
	if n > 0 && !changesOwn(at, data) {
		return n
	}
	return n + 1
}

// changesOwn reports whether the export's own keys differ from those of the observed object. Keys that others have
// added, or that only an object has that is taken over, do not count. A removed key counts if Crossplane applied it,
// because otherwise it stays in the object.
func changesOwn(at *placement, data map[string]sensitive.Bytes) bool {
	observed, err := object.DataOf(at.Observed)
	if err != nil {
		return true
	}
	for key, value := range data {
		was, ok := observed[key]
		if !ok || !was.Equal(value) {
			return true
		}
	}
	applied, isLeft := object.Applied(at.Observed), isLeft(at)
	for key := range observed {
		if _, stays := data[key]; !stays && applied(key) && !isLeft(key) {
			return true
		}
	}
	return false
}

// revisions count the changes of exports.
type revisions struct {
	session *evaluate.Session
	exports []plan.Export // of the input
	placed  placements
}

// run returns the revision of each export's observed object, for expressions. An object that the composite does
// not list yet counts as one that does not exist, because anyone may have created it.
func (x revisions) run() (counted map[string]observation.Revision, next *evaluate.Session) {
	out := make(map[string]observation.Revision, len(x.exports))
	for _, e := range x.exports {
		if e.ForEach != nil {
			out[e.Name] = observation.Revision{Items: map[string]int64{}}
		} else {
			out[e.Name] = observation.Revision{}
		}
	}
	for _, at := range x.placed.exports {
		if list, key, ok := plan.SplitItem(at.Name); ok && at.Item != nil {
			out[list].Items[key] = at.revision()
		} else {
			out[at.Name] = observation.Revision{Number: at.revision()}
		}
	}
	return out, x.session.Next(nil, func(o *observation.Observation) { o.Revisions = out })
}

// revision returns the revision of the observed object, if it is one of the export.
func (at *placement) revision() int64 {
	apiVersion, kind, _, _ := object.Identity(at.Observed)
	if at.Unlisted || apiVersion != "v1" || kind != string(at.Kind) {
		return 0
	}
	return revisionOf(at.Observed)
}
