package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// The functions in this file call the HTTP gateway that etcd serves beside gRPC, because etcd's own client would be
// one more large dependency.

// A stored is a key of etcd with its value at a revision.
type stored struct {
	Key         []byte `json:"key"`
	Value       []byte `json:"value"`
	ModRevision int64  `json:"mod_revision,string"`
}

// A keyRange is a key, or all keys from Key to before End, and what becomes their value.
type keyRange struct {
	Key   []byte `json:"key"`
	End   []byte `json:"range_end,omitempty"`
	Value []byte `json:"value,omitempty"`
}

// A watchRequest asks for all changes of keys from a revision on, with the values before the changes.
type watchRequest struct {
	keyRange

	From int64 `json:"start_revision"`
	Prev bool  `json:"prev_kv"`
}

type etcdHeader struct {
	Revision int64 `json:"revision,string"`
	RaftTerm int64 `json:"raft_term,string"`
}

// etcd calls a method of etcd's gateway.
func (c *ControlPlane) etcd(ctx context.Context, method string, in, out any) error {
	rsp, err := c.etcdPost(ctx, method, in)
	if err != nil {
		return err
	}
	defer rsp.Body.Close() //nolint:errcheck // It was read.

	if err := json.NewDecoder(rsp.Body).Decode(out); err != nil {
		return fmt.Errorf("cannot decode the answer of etcd to %s: %w", method, err)
	}

	return nil
}

// etcdPost returns the answer of etcd if its status is 200.
func (c *ControlPlane) etcdPost(ctx context.Context, method string, in any) (*http.Response, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("cannot encode a request to etcd: %w", err)
	}

	url := "http://" + c.address("etcd") + "/v3/" + method

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("cannot make a request to etcd: %w", err)
	}

	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot call etcd: %w", err)
	}

	if rsp.StatusCode != http.StatusOK {
		defer rsp.Body.Close() //nolint:errcheck // It was read.

		text, _ := io.ReadAll(io.LimitReader(rsp.Body, 1000)) // a message of etcd, never a value

		return nil, fmt.Errorf("etcd refused %s: %s", method, bytes.TrimSpace(text))
	}

	return rsp, nil
}

// WaitForEtcd waits until etcd answers, at the start or after it was killed.
func (c *ControlPlane) WaitForEtcd(ctx context.Context) error {
	return until(ctx, 30*time.Second, "etcd", func(ctx context.Context) error {
		return healthy(ctx, "http://"+c.address("etcd")+"/health?serializable=false&exclude=NOSPACE")
	})
}

// An EtcdStatus says how far etcd is.
type EtcdStatus struct {
	// Revision is the revision of the last change. Term increases each time that etcd starts.
	Revision, Term int64

	// Size is the size of the database in bytes.
	Size int64
}

// EtcdStatus returns the status of etcd.
func (c *ControlPlane) EtcdStatus(ctx context.Context) (EtcdStatus, error) {
	var out struct {
		Header etcdHeader `json:"header"`
		DBSize int64      `json:"dbSize,string"`
	}

	err := c.etcd(ctx, "maintenance/status", struct{}{}, &out)

	return EtcdStatus{Revision: out.Header.Revision, Term: out.Header.RaftTerm, Size: out.DBSize}, err
}

// errGap is the error of a record that cannot be complete.
var errGap = errors.New("etcd no longer has all versions")

// RecordSecrets calls do for each version of each Secret of a namespace that etcd stores from a revision on, in the
// order of the revisions, until the context ends. It does not miss a version when the API server or etcd is started
// again. If etcd does not have all versions, the result is an error.
func (c *ControlPlane) RecordSecrets(
	ctx context.Context, namespace string, from int64, do func(event string, o *unstructured.Unstructured),
) error {
	for ctx.Err() == nil {
		err := c.recordSecrets(ctx, namespace, &from, do)
		if errors.Is(err, errGap) {
			return err
		}

		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond): // etcd is away
		}
	}

	return nil
}

// An etcdChange is what a watch of etcd returns.
type etcdChange struct {
	Result struct {
		Canceled        bool   `json:"canceled"`
		CancelReason    string `json:"cancel_reason"`
		CompactRevision int64  `json:"compact_revision,string"`
		Events          []struct {
			Type string `json:"type"`
			KV   stored `json:"kv"`
			Prev stored `json:"prev_kv"`
		} `json:"events"`
	} `json:"result"`
}

// recordSecrets watches until etcd ends the watch. from is the revision after the last one that was seen.
func (c *ControlPlane) recordSecrets(
	ctx context.Context, namespace string, from *int64, do func(event string, o *unstructured.Unstructured),
) error {
	prefix := secretsPrefix(namespace)
	keys := keyRange{Key: []byte(prefix), End: []byte(prefix[:len(prefix)-1] + "0")}

	create := watchRequest{keyRange: keys, From: *from, Prev: true}

	rsp, err := c.etcdPost(ctx, "watch", map[string]watchRequest{"create_request": create})
	if err != nil {
		return err
	}
	defer rsp.Body.Close() //nolint:errcheck // It ends here.

	for d := json.NewDecoder(rsp.Body); ; {
		var change etcdChange
		if err := d.Decode(&change); err != nil {
			return fmt.Errorf("cannot read a change of etcd: %w", err)
		}

		if r := change.Result; r.CompactRevision > 0 {
			return fmt.Errorf("%w: those before %d are gone, and %d comes next", errGap, r.CompactRevision, *from)
		} else if r.Canceled {
			return fmt.Errorf("etcd ended a watch: %s", r.CancelReason)
		}

		for _, e := range change.Result.Events {
			event, value := "MODIFIED", e.KV.Value
			if e.Type == "DELETE" {
				event, value = "DELETED", e.Prev.Value
			}

			o, err := decodeSecret(value)
			if err != nil {
				return fmt.Errorf("%w: %w", errGap, err)
			}

			o.SetResourceVersion(fmt.Sprint(e.KV.ModRevision))
			do(event, o)

			*from = e.KV.ModRevision + 1
		}
	}
}

// secretsPrefix is the prefix of the keys of the Secrets of a namespace. It ends with a slash, which 0 follows.
func secretsPrefix(namespace string) string { return "/registry/secrets/" + namespace + "/" }

// protobufPrefix is at the start of each value that the API server stores in protobuf.
var protobufPrefix = []byte("k8s\x00") //nolint:gochecknoglobals // Constant.

// decodeSecret reads a Secret as the API server stores it.
func decodeSecret(value []byte) (*unstructured.Unstructured, error) {
	body, ok := bytes.CutPrefix(value, protobufPrefix)
	if !ok {
		return nil, errors.New("cannot decode a Secret: it is not in protobuf")
	}

	var envelope runtime.Unknown
	if err := envelope.Unmarshal(body); err != nil {
		return nil, fmt.Errorf("cannot decode the type of a Secret: %w", err)
	}

	var s corev1.Secret
	if err := s.Unmarshal(envelope.Raw); err != nil {
		return nil, fmt.Errorf("cannot decode a Secret: %w", err)
	}

	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
	if err != nil {
		return nil, fmt.Errorf("cannot convert a Secret: %w", err)
	}

	u := &unstructured.Unstructured{Object: o}
	u.SetAPIVersion("v1")
	u.SetKind("Secret")

	return u, nil
}

// RewriteSecret changes the value that etcd has for a Secret, as another API server of the same etcd would.
func (c *ControlPlane) RewriteSecret(
	ctx context.Context, namespace, name string, change func(stored []byte) []byte,
) error {
	key := []byte(secretsPrefix(namespace) + name)

	var out struct {
		KVs []stored `json:"kvs"`
	}

	if err := c.etcd(ctx, "kv/range", keyRange{Key: key}, &out); err != nil {
		return err
	}

	if len(out.KVs) != 1 {
		return fmt.Errorf("etcd has %d values of Secret %s", len(out.KVs), name)
	}

	return c.etcd(ctx, "kv/put", keyRange{Key: key, Value: change(out.KVs[0].Value)}, &struct{}{})
}
