package internal

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	// The result of a test is cached as long as what it imports stays the same.
	_ "github.com/crossplane-contrib/function-export/internal/engine/function"
	_ "github.com/crossplane-contrib/function-export/internal/engine/server"
)

// linked are all modules of the program. Each one takes memory, time at start, and reviews of its updates: a new one
// needs a reason. Kubernetes' typed API, client-go and controller-runtime are a third of the program if one helper
// brings them. jsonrpc2 reads the messages of editors, and needs nothing else.
var linked = `
cel.dev/cel-go
cel.dev/expr
github.com/BurntSushi/toml
github.com/alecthomas/kong
github.com/antlr4-go/antlr/v4
github.com/beorn7/perks
github.com/blang/semver/v4
github.com/bmatcuk/doublestar/v4
github.com/cespare/xxhash/v2
github.com/crossplane-contrib/function-export
github.com/crossplane/crossplane-runtime/v2
github.com/crossplane/function-sdk-go
github.com/fxamacker/cbor/v2
github.com/go-logr/logr
github.com/go-logr/zapr
github.com/google/uuid
github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus
github.com/grpc-ecosystem/go-grpc-middleware/v2
github.com/munnerz/goautoneg
github.com/pavlo-v-chernykh/keystore-go/v4
github.com/pkg/errors
github.com/prometheus/client_golang
github.com/prometheus/client_model
github.com/prometheus/common
github.com/prometheus/procfs
github.com/robfig/cron/v3
github.com/sourcegraph/jsonrpc2
github.com/x448/float16
go.uber.org/multierr
go.uber.org/zap
go.yaml.in/yaml/v2
go.yaml.in/yaml/v3
go.yaml.in/yaml/v4
golang.org/x/crypto
golang.org/x/exp
golang.org/x/net
golang.org/x/sync
golang.org/x/sys
golang.org/x/term
golang.org/x/text
google.golang.org/genproto/googleapis/api
google.golang.org/genproto/googleapis/rpc
google.golang.org/grpc
google.golang.org/protobuf
gopkg.in/inf.v0
k8s.io/apimachinery
k8s.io/klog/v2
k8s.io/utils
sigs.k8s.io/json
sigs.k8s.io/yaml
software.sslmate.com/src/go-pkcs12
`

func TestFootprint(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}",
		"../fn").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(string(out))
	slices.Sort(got)
	if diff := cmp.Diff(strings.Fields(linked), slices.Compact(got)); diff != "" {
		t.Errorf("the program links other modules: -want, +got:\n%s", diff)
	}
}
