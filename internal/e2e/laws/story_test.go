package laws

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

// A story is an invented history of one composite.
type story struct {
	*History
	start time.Time
	last  map[string]Version
}

func newStory() *story {
	return &story{
		start: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC), last: map[string]Version{},
		History: &History{
			Composites: []string{"xr"}, Grace: 3 * time.Second, Generators: map[string]Rotates{"admin": {}},
			Exports: map[string]Shape{
				"app": {
					Generated: map[string]Output{"password": {"admin", "password"}, "token": {"admin", "token"}},
					Former:    map[string]Output{"former": {"admin", "password"}},
					Keys:      []string{"digest"}, Whole: WholeDigest,
				},
				"account": {Keys: []string{"user", "password", "both"}, Whole: WholeSource, Source: "account",
					Moment: Moment},
			},
		},
	}
}

// at returns the given number of seconds after the start.
func (s *story) at(second int) time.Time { return s.start.Add(time.Duration(second) * time.Second) }

// now returns the last revision.
func (s *story) now() int64 { return int64(len(s.versions)) }

// write adds a version of a Secret, the given number of seconds after the start.
func (s *story) write(second int, v Version) {
	v.Composite, v.at, v.Revision = "xr", s.at(second), s.now()+1
	v.uid = cmp.Or(v.uid, "uid-of-"+v.Name)
	v.event = cmp.Or(v.event, "MODIFIED")

	if was := s.last[v.Name]; v.changes == 0 {
		v.changes = was.changes
		if !maps.Equal(v.Data, was.Data) {
			v.changes++
		}
	}

	s.Add(v)
	s.last[v.Name] = v

	if v.event == "DELETED" {
		delete(s.last, v.Name)
	}
}

// end ends the story, after the system has become stable.
func (s *story) end() { s.Final = slices.Collect(maps.Values(s.last)) }

// generation of a state: stored, adopted, flagged so many seconds after the start.
func (s *story) generation(n int, adopted bool, flagged int) Version {
	v := Version{
		Name: fmt.Sprintf("xr-admin-%d", n), Generator: "admin", Number: n, immutable: true, Adopted: adopted,
		Data: map[string]string{"password": fmt.Sprintf("p%d", n), "token": fmt.Sprintf("t%d", n)},
	}
	if flagged > 0 {
		v.Flagged = s.at(flagged)
	}

	return v
}

func app(n int, former string) Version {
	sum := sha256.Sum256(fmt.Appendf(nil, "p%d", n))
	v := Version{
		Name: "xr-app", Export: "app", generated: map[string]string{"admin": fmt.Sprintf("uid-of-xr-admin-%d", n)},
		Data: map[string]string{"password": fmt.Sprintf("p%d", n), "token": fmt.Sprintf("t%d", n),
			"digest": hex.EncodeToString(sum[:])},
	}
	if former != "" {
		v.Data["former"] = former
	}

	return v
}

func account(n int) Version {
	return Version{Name: "xr-account", Export: "account", Data: map[string]string{
		"user": fmt.Sprintf("user-%d", n), "password": fmt.Sprintf("password-%d", n),
		"both": fmt.Sprintf("user-%d:password-%d", n, n),
	}}
}

// chapters are the parts of a correct story. A test replaces some of them.
func chapters() map[string]func(s *story) {
	return map[string]func(s *story){
		"01 stored":          func(s *story) { s.write(1, s.generation(1, false, 0)) },
		"02 adopted":         func(s *story) { s.write(2, s.generation(1, true, 0)) },
		"03 exported":        func(s *story) { s.write(3, app(1, "")) },
		"04 source":          func(s *story) { s.Ask("xr", "account"); s.write(4, account(1)) },
		"05 asked":           func(s *story) { s.Ask("xr", "admin") },
		"06 second stored":   func(s *story) { s.write(5, s.generation(2, false, 0)) },
		"07 second adopted":  func(s *story) { s.write(6, s.generation(2, true, 0)) },
		"08 second exported": func(s *story) { s.write(7, app(2, "p1")) },
		"09 flagged":         func(s *story) { s.write(8, s.generation(1, true, 8)) },
		"10 source changed":  func(s *story) { s.Ask("xr", "account"); s.write(9, account(2)) },
		"11 grace is over":   func(s *story) { v := s.generation(1, true, 8); v.event = "DELETED"; s.write(12, v) },
		"12 former is gone":  func(s *story) { s.write(12, app(2, "")) },
	}
}

func tell(changes map[string]func(s *story)) *story {
	all, s := chapters(), newStory()
	maps.Copy(all, changes)

	for _, name := range slices.Sorted(maps.Keys(all)) {
		all[name](s)
	}

	s.end()

	return s
}
