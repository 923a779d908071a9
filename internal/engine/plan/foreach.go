package plan

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
)

// A ForEach is the list for whose items an export or a generator is made.
type ForEach struct {
	List *expression.Expression
	Key  *expression.Expression // identifies an item
}

// ItemName returns the composition resource name of the object for an item.
func ItemName(export, key string) string { return export + "/" + key }

// DefaultName returns the name of the object, after the name of the composite and a dash.
func (e Export) DefaultName() string {
	if e.Item == nil {
		return e.Name
	}
	return strings.TrimSuffix(e.Name, ItemName("", e.Item.Key)) + "-" + e.Item.Key
}

// ItemPath returns the path of the export, with the key of its item.
func (e Export) ItemPath() *field.Path {
	if e.Item == nil {
		return e.Path
	}
	return e.Path.Key(e.Item.Key)
}

// For returns the export of the object for an item.
func (e Export) For(item *observation.Item) Export {
	e.Name, e.title = ItemName(e.Name, item.Key), ItemName(e.title, item.Key)
	e.Item = item
	e.Generators, e.Candidates = ofItem(e.Generators, item.Key), ofItem(e.Candidates, item.Key)
	return e
}

// forEach compiles the list of an export or a generator at a path, whose item all expressions see that are
// compiled after it. It returns nil if there is none.
func (c *compiler) forEach(at *field.Path, list, key string) *ForEach {
	if list == "" && key == "" {
		return nil
	}
	l := source(at.Child("forEachExpression"), list, expression.WantList)
	l.Items = expression.ItemList
	c.each = &ForEach{List: c.output(l)}
	k := source(at.Child("keyExpression"), key, expression.WantString)
	k.Items = expression.ItemKey
	c.each.Key = c.output(k)
	c.refuseUnknown(c.each.List, "the list")
	c.refuseUnknown(c.each.Key, "the key")
	return c.each
}

// refuseItemNames refuses an export whose name can be the composition resource name of an item of another one.
func (c *compiler) refuseItemNames(x exportInput) {
	for _, list := range c.exports {
		if prefix := ItemName(list.Name, ""); list.ForEachExpression != "" && strings.HasPrefix(x.Name, prefix) {
			c.refuse(x.at.Child("name"),
				"begins with %s, as the composition resource names of the items of %s: rename one of them",
				prefix, list.at)
		}
	}
}
