package rewrite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// Each conflict is described by the origins of its keys, so conflicts also spend the budget.
func TestConflictsArePaidFor(t *testing.T) {
	var members []string
	for i := range 100 {
		members = append(members, fmt.Sprintf(`"m%d":1`, i))
	}
	value := sensitive.FromString("{" + strings.Join(members, ",") + "}")
	keys := make([]Key, 51)
	for i := range keys {
		keys[i] = Key{Name: fmt.Sprintf("k%02d", i), Value: value, Origins: []Origin{{Key: "k"}}}
	}
	for i := range 1000 { // as after a merge
		keys[0].Origins = append(keys[0].Origins, Origin{Input: "db", Key: fmt.Sprintf("k%d", i)})
	}
	_, err := merge{&Merge{}, "merge"}.run(budget.New(context.Background()), keys)
	if err == nil || !strings.Contains(err.Error(), budget.ErrSpent.Error()) {
		t.Errorf("got %.200v, want an error about the budget", err)
	}
}
