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

// checkRevision refuses revisions of an export that does not exist, and revisions in a field where they could change
// themselves.
func (c *compiler) checkRevision(at expression.Place, path, name string) {
	isData := countData.MatchString(path)
	switch {
	case !isData && !mayCount.MatchString(path):
		c.reportAt(at, "may not use revisions: they may be used in status, in labels and annotations of exports, "+
			"in readyExpression, and in data of a later export")
	case name == Anything && !isData:
	case name == Anything:
		c.reportAt(at, "must name the export whose revision it uses: write revisions.<export>")
	case !slices.Contains(c.exportNames(), name):
		c.reportAt(at, "there is no export %q%s", name, suggest.ThereAre(name, c.exportNames(), "add it"))
	case isData && !slices.Contains(c.exported, name):
		c.reportAt(at, "may use only revisions of exports above this one: the revision of %q could change itself forever",
			name)
	}
}
