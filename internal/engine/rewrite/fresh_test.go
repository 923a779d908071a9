package rewrite

import (
	"context"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
)

// fresh is what one request may do.
func fresh() *budget.Budget { return budget.New(context.Background()) }
