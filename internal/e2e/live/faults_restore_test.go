package live_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// A run of TestFaults restores etcd once, from a copy of its data. Then everything that was written after the copy is
// gone, and revisions are used again. There are two timelines: what etcd had until the restore, and what it had until
// the copy, followed by what it had after the restore. Each law holds in each timeline. Only the law of the end does
// not concern a timeline that was cut. A law cannot compare the timelines: a value that was exported only after the
// copy is lost, and the number of its generation is used again for another value.
//
// As the instructions of Kubernetes require, the API server and everything that watches it is started again after the
// restore. The function is not: it stores nothing.

// snapshotAge returns how many failures before the restore the copy is made.
func snapshotAge(t *testing.T, n int) int {
	t.Helper()

	return min(n/4, int(setting(t, "LIVE_SNAPSHOT", 30)))
}

// restored starts another timeline of a history: etcd has what it had at a revision.
func (h *history) restored(revision int64) {
	h.mu.Lock()
	defer h.mu.Unlock()

	there := map[string]version{}

	for _, v := range h.versions {
		if last := there[v.uid]; v.revision >= last.revision {
			there[v.uid] = v
		}
	}

	maps.DeleteFunc(there, func(_ string, v version) bool { return v.event == "DELETED" })

	h.past = append(h.past, &history{
		exports: h.exports, generators: h.generators, grace: h.grace, composites: h.composites, seen: h.seen,
		versions: slices.Clone(h.versions), asks: slices.Clone(h.asks), final: slices.Collect(maps.Values(there)), cut: true,
		paused: slices.Clone(h.paused), protected: slices.Clone(h.protected), wrong: slices.Clone(h.wrong),
	})
	h.versions = slices.DeleteFunc(h.versions, func(v version) bool { return v.revision > revision })
	h.known = map[string]bool{}

	for _, v := range h.versions {
		h.known[v.id()] = true
	}
}

// timelines returns a history, after those that ended when etcd was restored.
func (h *history) timelines() []*history { return append(slices.Clone(h.past), h) }

// snapshot copies the data of etcd. All failures before it are repaired then.
func (w *ward) snapshot(ctx context.Context) error {
	w.heals.Wait()
	w.etcd.Lock()
	defer w.etcd.Unlock()

	return w.restartEtcd(ctx, func() (err error) {
		w.copied = time.Now()
		w.copy, err = plane.CopyEtcd()
		w.copySeen = w.ask("", "") // it numbers what follows

		return err
	})
}

// outdated reports whether a generation was stored and exported after the copy was made.
func (w *ward) outdated() bool {
	l := w.lives()
	found := false

	l.eachExport(func(v, _ version, _ shape) {
		for _, uid := range v.generated {
			if g := l.generations[uid]; v.event != "LISTED" && len(g) > 0 && g[0].seen > w.copySeen {
				found = true
			}
		}
	})

	return found
}

// restore lets etcd have what it had at the snapshot. The writers of sources then write again, as they do with real
// sources.
func (w *ward) restore(ctx context.Context) error {
	w.heals.Wait()
	w.etcd.Lock()
	defer w.etcd.Unlock()

	for start := time.Now(); !w.outdated() && time.Since(start) < time.Minute; {
		time.Sleep(100 * time.Millisecond)
	}

	before, err := plane.EtcdStatus(ctx)
	if err != nil {
		return err
	}

	err = w.down(func() error {
		err := w.down(func() error { return plane.RestoreEtcd(w.copy) }, plane.Etcd)
		if err := errors.Join(err, plane.WaitForEtcd(ctx)); err != nil {
			return err
		}

		after, err := plane.EtcdStatus(ctx)
		if err != nil {
			return err
		}

		w.record.cut(after.Revision)
		w.record.follow(ctx, after.Revision+1)

		return w.wentBack(before.Revision, after.Revision)
	}, plane.Crossplane, plane.RBACManager, plane.ControllerManager, plane.APIServer)
	if err != nil {
		return err
	}

	if err := plane.WaitForAPIServer(ctx); err != nil {
		return err
	}

	for _, name := range slices.Sorted(maps.Keys(w.sources)) {
		w.write(ctx, w.sources[name])
	}

	return nil
}

// wentBack returns an error unless the restore took generations and exported values away.
func (w *ward) wentBack(before, after int64) error {
	past := w.past[len(w.past)-1].lives()
	now := w.lives()

	lost := 0

	for uid := range past.generations {
		if len(now.generations[uid]) == 0 {
			lost++
		}
	}

	exported := map[string]bool{}

	past.eachExport(func(v, _ version, s shape) {
		for key, o := range s.generated {
			if g := past.generation(v.composite, o, v.data[key]); g.uid != "" && len(now.generations[g.uid]) == 0 {
				exported[g.uid] = true
			}
		}
	})

	w.t.Logf("etcd is what it was %s ago: revision %d after %d; %d generations are gone, and %d of them were exported",
		time.Since(w.copied).Round(time.Second), after, before, lost, len(exported))

	if after >= before || lost == 0 || len(exported) == 0 {
		return fmt.Errorf("the restore had no effect")
	}

	return nil
}

// cut ends the record before etcd was restored at a revision.
func (r *etcdRecord) cut(revision int64) {
	r.stop()

	missed := len(r.unwatched())

	r.history.restored(revision)

	r.mu.Lock()
	defer r.mu.Unlock()

	r.missed += missed
	r.watched = map[string]bool{}
	r.revision = revision

	for _, v := range r.history.versions {
		r.watched[v.id()] = true
	}
}

// done fails the test if something that breaks the system cannot be done.
func (w *ward) done(what string, err error) {
	w.t.Helper()

	if err != nil {
		w.t.Fatalf("cannot %s: %v", what, err)
	}
}

// back restores the story to what it was before the second generation was stored.
func (s *story) back() {
	s.restored(4)

	s.last = map[string]version{}
	for _, v := range s.versions {
		s.last[v.name] = v
	}
}

// TestRestoredHistories checks that each law is about one timeline, and that values of the other one are found.
func TestRestoredHistories(t *testing.T) {
	again := func(s *story, adopted bool) version {
		v := s.generation(2, adopted, 0)
		v.uid = "another"
		v.data = map[string]string{"password": "again", "token": "again"}

		return v
	}
	export := func(password, token, uid string) version {
		sum := sha256.Sum256([]byte(password))
		v := app(2, "p1")
		v.data["password"], v.data["token"], v.data["digest"] = password, token, hex.EncodeToString(sum[:])
		v.generated = map[string]string{"admin": uid}

		return v
	}
	cases := map[string]struct {
		reason   string
		exported version
		want     string // a part of the name of the only broken law
	}{
		"Honest": {
			reason:   "the number 2 has another value in the other timeline",
			exported: export("again", "again", "another"),
		},
		"Lost": {
			reason:   "the value of the lost generation is exported again",
			exported: export("p2", "t2", "another"), want: "stored and adopted",
		},
		"Mixed": {
			reason:   "one key is of the lost generation",
			exported: export("again", "t2", "another"), want: "stored and adopted",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := tell(map[string]func(s *story){
				"09 flagged":          (*story).back,
				"09b second stored":   func(s *story) { s.write(9, again(s, false)) },
				"09c second adopted":  func(s *story) { s.write(9, again(s, true)) },
				"09d second exported": func(s *story) { s.write(9, tc.exported) },
				"09e flagged":         func(s *story) { s.write(9, s.generation(1, true, 8)) },
				"12 former is gone": func(s *story) {
					v := tc.exported
					v.data = maps.Clone(v.data)
					delete(v.data, "former")
					s.write(12, v)
				},
			})

			got := s.judge()
			delete(got, "in the end one generation is left, and all that is has it") // it shows only the end

			for law, broken := range got {
				if tc.want == "" || !strings.Contains(law, tc.want) && !strings.Contains(law, "never goes back") {
					t.Errorf("%s: broke %q: %s", tc.reason, law, broken)
				}
			}

			if tc.want != "" && len(got) == 0 {
				t.Errorf("%s: did not break the law of %q", tc.reason, tc.want)
			}
		})
	}
}
