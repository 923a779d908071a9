package live_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	pipelinev1alpha1 "github.com/crossplane/crossplane-runtime/v2/apis/pipelineinspector/proto/v1alpha1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// An inspector is a pipeline inspector: Crossplane sends it each request and response of a function.
type inspector struct {
	pipelinev1alpha1.UnimplementedPipelineInspectorServiceServer

	mu       sync.Mutex
	messages [][]byte
}

func (i *inspector) keep(message []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()

	i.messages = append(i.messages, message)
}

// EmitRequest keeps a request.
func (i *inspector) EmitRequest(_ context.Context, r *pipelinev1alpha1.EmitRequestRequest) (*pipelinev1alpha1.EmitRequestResponse, error) {
	i.keep(r.GetRequest())

	return &pipelinev1alpha1.EmitRequestResponse{}, nil
}

// EmitResponse keeps a response.
func (i *inspector) EmitResponse(_ context.Context, r *pipelinev1alpha1.EmitResponseRequest) (*pipelinev1alpha1.EmitResponseResponse, error) {
	i.keep(r.GetResponse())
	i.keep([]byte(r.GetError()))

	return &pipelinev1alpha1.EmitResponseResponse{}, nil
}

// inspect serves an inspector at a socket.
func inspect(t *testing.T, socket string) *inspector {
	t.Helper()

	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}

	i, s := &inspector{}, grpc.NewServer(grpc.MaxRecvMsgSize(64<<20))
	pipelinev1alpha1.RegisterPipelineInspectorServiceServer(s, i)

	go func() { _ = s.Serve(lis) }() // until it is stopped

	t.Cleanup(s.Stop)

	return i
}

// TestAlphaFeatures plays scenarios while Crossplane keeps responses on its disk and sends all messages to a pipeline
// inspector. The inspector gets no value of a Secret. The disk contains values only in the data of desired Secrets, and
// none of a function whose ttl is 0s.
func TestAlphaFeatures(t *testing.T) {
	if err := stage(); err != nil {
		t.Fatal(err)
	}

	installQuiet(t)

	inspector := inspect(t, state("inspector.socket"))
	restore, err := plane.RestartCrossplane(t.Context(), "--enable-function-response-cache", "--enable-pipeline-inspector",
		"--pipeline-inspector-socket="+state("inspector.socket"),
		"--circuit-breaker-burst=1000") // three rotations in some seconds have more events than the default
	t.Cleanup(func() { restoreCrossplane(t, restore) })

	if err != nil {
		t.Fatal(err)
	}

	const withoutTTL = "alpha-without-ttl"

	t.Run("scenarios", func(t *testing.T) {
		for name, play := range map[string]func(ctx context.Context, s scenario) error{
			"alpha-create": creates, "alpha-update": updates, "alpha-rotate": rotatesByPassword,
			"alpha-authors": exportsForAuthors, "alpha-connection": exportsOwnConnections, withoutTTL: exportsWithoutTTL,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()

				if err := play(t.Context(), scenario{ControlPlane: plane, function: functionName, composer: quiet, ns: name}); err != nil {
					t.Errorf("%v\n%s", err, events(name))
				}
			})
		}
	})

	values := secretValues("")
	redacted := 0

	inspector.mu.Lock()
	defer inspector.mu.Unlock()

	for _, m := range inspector.messages {
		redacted += strings.Count(string(m), "**REDACTED**")

		if n := leaks(m, values); n > 0 {
			t.Errorf("a message to the pipeline inspector has %d values of Secrets", n)
		}
	}

	if redacted == 0 {
		t.Error("the pipeline inspector got no message about a Secret")
	}

	files, found := searchCache(t, values, secretValues(withoutTTL))
	if found == 0 {
		t.Error("no value is in the cache of responses: the page says that it has them, or the search finds nothing")
	}

	t.Logf("%d values: none in %d messages, which have %d redacted values; %d of %d cached responses have some in the data of Secrets",
		len(values), len(inspector.messages), redacted, found, files)
}

// exportsWithoutTTL exports connection details with ttl: 0s.
func exportsWithoutTTL(ctx context.Context, s scenario) error {
	given := login()

	return first(
		func() error {
			return s.open(ctx, "App", "ttl: 0s\nsecrets: [{name: connection, from: db, data: [{valueMap: \"{'password': secret.password}\"}]}]", database)
		},
		func() error { return s.applyApp(ctx) },
		func() error { return s.provide(ctx, "app-db", "app-db-details", given, readyStatus("")) },
		func() error {
			return s.becomes(ctx, "Secret", "app-connection", map[string]string{"password": given["password"]})
		},
		func() error { return s.says(ctx, s.app(), "Available") },
	)
}

// searchCache returns the number of responses in Crossplane's cache, and the number of those that have values. It checks
// that only the data of desired Secrets have values, and that none has one of the absent values.
func searchCache(t *testing.T, values, absent [][]byte) (files, found int) {
	t.Helper()

	err := filepath.WalkDir(state("xfn-cache"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}

		b, err := os.ReadFile(path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) { // it expired
				return nil
			}

			return err
		}

		files++

		if leaks(b, absent) > 0 {
			t.Errorf("%s has a value of an export with ttl: 0s", path)
		}

		if leaks(b, values) > 0 {
			found++
		}

		if leaks(withoutSecretData(t, b), values) > 0 {
			t.Errorf("%s has values elsewhere than in the data of Secrets", path)
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return files, found
}

// withoutSecretData returns the response in a file of Crossplane's cache, without the data of desired Secrets.
func withoutSecretData(t *testing.T, file []byte) []byte {
	t.Helper()

	rsp := &fnv1.RunFunctionResponse{}

	for len(file) > 0 { // a message with a deadline, and with the response in field 2
		num, typ, n := protowire.ConsumeTag(file)
		if n < 0 || typ != protowire.BytesType {
			t.Fatal("a file of the cache is not a message of Crossplane v2.4")
		}

		value, m := protowire.ConsumeBytes(file[n:])
		if m < 0 {
			t.Fatal("a file of the cache is not a message of Crossplane v2.4")
		}

		if num == 2 {
			if err := proto.Unmarshal(value, rsp); err != nil {
				t.Fatal(err)
			}
		}

		file = file[n+m:]
	}

	for _, r := range rsp.GetDesired().GetResources() {
		if f := r.GetResource().GetFields(); f["apiVersion"].GetStringValue() == "v1" && f["kind"].GetStringValue() == "Secret" {
			delete(f, "data")
		}
	}

	b, err := proto.Marshal(rsp)
	if err != nil {
		t.Fatal(err)
	}

	return b
}
