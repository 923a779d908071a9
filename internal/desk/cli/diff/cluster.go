package diff

import (
	"context"
	"errors"

	"google.golang.org/protobuf/types/known/structpb"

	rehearsal "github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
)

func (c *Command) readCluster(context.Context, []*composition) (*state.State, source, error) {
	return nil, source{}, errors.New("not yet")
}

type renderer struct {
	functions string
	state     *state.State
}

func (r *renderer) recompose(context.Context, *state.Composite, *rehearsal.Pipeline) (map[string]*structpb.Struct, error) {
	return nil, nil
}
