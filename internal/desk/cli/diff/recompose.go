package diff

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"

	rehearsal "github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
)

type renderer struct {
	functions string
	state     *state.State
}

func (r *renderer) recompose(context.Context, *state.Composite, *rehearsal.Pipeline) (map[string]*structpb.Struct, error) {
	return nil, nil
}
