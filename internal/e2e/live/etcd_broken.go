package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// junkPrefix is the prefix of the keys that fill etcd up. The API server never reads them.
const (
	junkPrefix = "/junk/"
	junkEnd    = "/junk0"
)

// SetEtcdQuota sets the size that the database of etcd can have after etcd is started again. The quota 0 is the
// default of etcd.
func (c *ControlPlane) SetEtcdQuota(bytes int64) {
	const flag = "--quota-backend-bytes="

	c.Etcd.mu.Lock()
	defer c.Etcd.mu.Unlock()

	c.Etcd.args = slices.DeleteFunc(slices.Clone(c.Etcd.args),
		func(a string) bool { return strings.HasPrefix(a, flag) })
	c.Etcd.args = append(c.Etcd.args, flag+fmt.Sprint(bytes))
}

// FillEtcd writes to etcd until it is full. From then on, etcd refuses everything that needs space.
func (c *ControlPlane) FillEtcd(ctx context.Context) error {
	junk := make([]byte, 1<<20)

	for i := range 200 {
		err := c.etcd(ctx, "kv/put", keyRange{Key: fmt.Appendf(nil, "%s%d", junkPrefix, i), Value: junk}, &struct{}{})
		if err != nil && strings.Contains(err.Error(), "database space exceeded") {
			return c.isFull(ctx)
		}

		if err != nil {
			return err
		}
	}

	return errors.New("etcd accepted 200 MiB")
}

// isFull returns an error unless etcd raised its alarm.
func (c *ControlPlane) isFull(ctx context.Context) error {
	alarms, err := c.alarms(ctx)
	if err == nil && len(alarms) == 0 {
		err = errors.New("etcd is full, and raised no alarm")
	}

	return err
}

// An alarm is an alarm that etcd raised.
type alarm struct {
	Member string `json:"memberID"`
	Alarm  string `json:"alarm"`
}

func (c *ControlPlane) alarms(ctx context.Context) ([]alarm, error) {
	var out struct {
		Alarms []alarm `json:"alarms"`
	}

	err := c.etcd(ctx, "maintenance/alarm", map[string]string{"action": "GET"}, &out)

	return out.Alarms, err
}

// EmptyEtcd frees the space of etcd as its documentation says: it deletes what filled it up, drops the versions
// before a revision, returns the space to the system, and disarms the alarm.
func (c *ControlPlane) EmptyEtcd(ctx context.Context, revision int64) error {
	for _, step := range []struct {
		method string
		in     any
	}{
		{"kv/deleterange", keyRange{Key: []byte(junkPrefix), End: []byte(junkEnd)}},
		{"kv/compaction", map[string]any{"revision": revision, "physical": true}},
		{"maintenance/defragment", struct{}{}},
	} {
		err := c.etcd(ctx, step.method, step.in, &struct{}{})
		if err != nil && !strings.Contains(err.Error(), "has been compacted") { // by the API server
			return err
		}
	}

	alarms, err := c.alarms(ctx)

	for _, a := range alarms {
		in := map[string]string{"action": "DEACTIVATE", "memberID": a.Member, "alarm": a.Alarm}
		err = errors.Join(err, c.etcd(ctx, "maintenance/alarm", in, &struct{}{}))
	}

	return err
}

// CopyEtcd copies the data of etcd to a new folder while etcd is stopped, and returns the path of the folder.
func (c *ControlPlane) CopyEtcd() (string, error) {
	dir := c.path(fmt.Sprintf("etcd-%d", time.Now().UnixNano()))

	return dir, c.copyEtcd(dir, c.path("etcd"))
}

// RestoreEtcd replaces the data of etcd with a copy while etcd is stopped.
func (c *ControlPlane) RestoreEtcd(dir string) error {
	if err := os.RemoveAll(c.path("etcd")); err != nil {
		return fmt.Errorf("cannot delete the data of etcd: %w", err)
	}

	return c.copyEtcd(c.path("etcd"), dir)
}

func (c *ControlPlane) copyEtcd(to, from string) error {
	if c.Etcd.Running() {
		return errors.New("cannot copy the data of etcd: it is running")
	}

	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("cannot copy the data of etcd: %w", err)
	}

	return nil
}
