package live

import (
	"errors"
	"fmt"
	"os"
	"time"
)

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
