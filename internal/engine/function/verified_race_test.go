package function_test

import (
	"context"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// A racing client reads a Secret by its labels from before the provider wrote it, while a race is on.
type racing struct {
	*functiontest.Function

	on bool
}

func (r *racing) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest, _ ...grpc.CallOption) (*fnv1.RunFunctionResponse, error) {
	req = proto.CloneOf(req)
	for key, found := range req.GetRequiredResources() {
		if strings.Contains(key, "/labels=") && r.on {
			functiontest.Set(found.GetItems()[0].GetResource(), "b2xk", "data", "password")
		}
	}
	return r.Function.RunFunction(ctx, req)
}

// A provider that writes the accepted password while Crossplane reads it delays the rotation by one reconcile. The
// generation stays pending, and nothing else waits.
func TestVerifiedRotationDuringARace(t *testing.T) {
	const input = `
sources:
- {name: again, apiVersion: v1, kind: Secret, matchLabels: {app: shop}}
`
	d := newDatabase(t, input+strings.Replace(strings.Replace(verifiedPassword, "\nsources: [", "- ", 1), "\"'applied'\"}]", "\"'applied'\"}", 1)+
		"- {name: copy, data: [{key: password, value: secrets.again.password}]}\n")
	client := &racing{Function: d.Fn}
	d.Client = client
	const first, second = "shop-admin-1", "shop-admin-2"
	label := func() {
		functiontest.Set(d.Stored["v1|Secret|team-a|applied"], "shop", "metadata", "labels", "app")
	}
	d.set(d.Value("shop-setter", "password"))
	label()
	d.Settle()
	d.wants("accepted", "shop-admin-1 shop-app shop-copy shop-setter", first, first, `Available`)
	d.Annotate(rotateKey, "admin=1")
	d.Settle()
	d.set(d.Value("shop-setter", "password"))
	label()
	client.on = true
	d.Reconcile()
	d.wants("raced", "shop-admin-1 shop-admin-2 shop-app shop-copy shop-setter", second, first,
		`Held Secret "copy" (team-a/shop-copy) is kept unchanged: key "password" waits for Secret team-a/applied (it changed while Crossplane read it)`)
	if ttl := d.TTL(); d.Fatal() != "" || ttl == 0 || ttl > 5*time.Second {
		t.Errorf("want no fatal result and a TTL of 5s at most, got %q, %s", d.Fatal(), ttl)
	}
	client.on = false
	d.Settle()
	d.wants("read again", "shop-admin-1 shop-admin-2 shop-app shop-copy shop-setter", second, second, `Available`)
}
