package render

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
)

// refused has the flags of `crossplane composition render` that this command does not need. The help of each is the
// reason.
type refused struct {
	CacheDir                refusedFlag `hidden:"" help:"function-export render downloads no package."`
	Config                  refusedFlag `hidden:"" help:"function-export render has no configuration file."`
	CrossplaneBinary        refusedFlag `hidden:"" help:"function-export render runs only this function, without Crossplane."`
	CrossplaneDockerNetwork refusedFlag `hidden:"" help:"function-export render runs no container."`
	CrossplaneImage         refusedFlag `hidden:"" help:"function-export render runs only this function, without Crossplane."`
	CrossplaneVersion       refusedFlag `hidden:"" help:"function-export render runs only this function, without Crossplane."`
	MaxConcurrency          refusedFlag `hidden:"" help:"function-export render builds no function."`
	ProjectFile             refusedFlag `hidden:"" help:"function-export render runs only this function, and reads no project." short:"f"`
	Verbose                 refusedFlag `hidden:"" help:"function-export render has no log, and always prints results and conditions."`
}

// A refusedFlag is an error with the help of the flag.
type refusedFlag struct{}

// Decode is called by kong if the flag is on the command line.
func (*refusedFlag) Decode(c *kong.DecodeContext) error {
	why := strings.TrimSuffix(c.Value.Help, ".")
	return &terminal.UsageError{Text: fmt.Sprintf("--%s: remove this flag: %s", c.Value.Name, why)}
}
