package budget

import (
	"context"
	"errors"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

func TestSpend(t *testing.T) {
	b := New(context.Background())
	if err := b.Spend(limits.PieceFuel + 1); !errors.Is(err, ErrSpent) || b.Left() != limits.RequestFuel {
		t.Errorf("a piece that is too large: want it refused, and nothing taken; got %v, %d left", err, b.Left())
	}
	for range limits.RequestFuel / limits.PieceFuel {
		if err := b.Spend(limits.PieceFuel); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Spend(1); !errors.Is(err, ErrSpent) {
		t.Errorf("nothing is left: want %v, got %v", ErrSpent, err)
	}
}

func TestSpendAfterTheCallerWentAway(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := New(ctx)
	cancel()
	if _, _, err := b.Grant(0); !errors.Is(err, context.Canceled) || !errors.Is(b.Spend(1), context.Canceled) ||
		b.Left() != limits.RequestFuel {
		t.Errorf("want nothing paid, got %v and %d left", err, b.Left())
	}
}
