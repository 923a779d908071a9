package live_test

import (
	"runtime"
	"testing"
	"time"
)

// A process does not end with the thread that asked for its start.
func TestProcessesOutliveThreads(t *testing.T) {
	p := function.Replicas[0]
	t.Cleanup(func() { // other tests need it
		if err := p.Start(); err != nil {
			t.Error(err)
		}
	})

	p.Stop(5 * time.Second)

	started := make(chan error)

	go func() {
		runtime.LockOSThread() // it is never unlocked, so the thread ends with this goroutine

		started <- p.Start()
	}()

	if err := <-started; err != nil {
		t.Fatal(err)
	}

	time.Sleep(time.Second)

	if !p.Running() {
		t.Error("the process ended with the thread")
	}
}
