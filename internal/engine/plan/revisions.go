package plan

import (
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// Fields whose expressions may use revisions. In data, a revision of the same or a later export could change itself
// forever: each change of data is a new revision.
var (
	mayCount  = lazy.MustCompile(`^status\[|\.metadata\.(labels|annotations)Expression$|\.readyExpression$`)
	countData = lazy.MustCompile(`^(secrets|configMaps)\[[0-9]+\]\.data\[[0-9]+\]\.(value|valueMap)$`)
)

// checkRevisions refuses revisions of an export that does not exist, and revisions in a field where they could change
// themselves.
func (c *compiler) checkRevisions(x *expression.Expression) bool {
	ok, path := true, x.Source().Path
	for _, r := range x.References() {
		name := StepName(r, 0)
		switch {
		case r.Variable != expression.Revisions:
			continue
		case !mayCount.MatchString(path) && !countData.MatchString(path):
			c.reportAt(x.Place(r), "may not use revisions: they may be used in status, in labels and annotations of exports, "+
				"in readyExpression, and in data of a later export")
		case name == Anything && mayCount.MatchString(path):
			continue
		case name == Anything:
			c.reportAt(x.Place(r), "must name the export whose revision it uses: write revisions.<export>")
		case !slices.Contains(c.exportNames(), name):
			c.reportAt(x.Place(r), "there is no export %q%s", name, suggest.ThereAre(name, c.exportNames(), "add it"))
		case countData.MatchString(path) && !slices.Contains(c.exported, name):
			c.reportAt(x.Place(r), "may use only revisions of exports above this one: the revision of %q could change itself "+
				"forever", name)
		default:
			continue
		}
		ok = false
	}
	return ok
}
