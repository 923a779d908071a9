package e2e

import (
	"context"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// patience is how long a process waits for a lock before it reports the wait.
const patience = time.Second

// lock locks a file until unlock is called or this process ends, even if it is killed, because the
// operating system holds the lock. The file itself has no meaning. If another process has the lock,
// lock calls waiting and waits, at most until the context ends.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	type result struct {
		unlock func()
		err    error
	}

	locked := make(chan result, 1)

	go func() {
		unlock, err := lockedfile.MutexAt(path).Lock()
		locked <- result{unlock, err}
	}()

	for said := time.After(patience); ; {
		select {
		case r := <-locked:
			return r.unlock, r.err
		case <-said:
			waiting()
		case <-ctx.Done():
			go func() { // Lock cannot be interrupted: a late lock is released
				if r := <-locked; r.err == nil {
					r.unlock()
				}
			}()

			return nil, ctx.Err()
		}
	}
}
