package laws

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"
	"testing"
)

// back restores the story to what it was before the second generation was stored.
func (s *story) back() {
	s.Restored(4)

	s.last = map[string]Version{}
	for _, v := range s.versions {
		s.last[v.Name] = v
	}
}

// TestRestoredHistories checks that each law is about one timeline, and that values of the other one are found.
func TestRestoredHistories(t *testing.T) {
	again := func(s *story, adopted bool) Version {
		v := s.generation(2, adopted, 0)
		v.uid = "another"
		v.Data = map[string]string{"password": "again", "token": "again"}

		return v
	}
	export := func(password, token, uid string) Version {
		sum := sha256.Sum256([]byte(password))
		v := app(2, "p1")
		v.Data["password"], v.Data["token"], v.Data["digest"] = password, token, hex.EncodeToString(sum[:])
		v.generated = map[string]string{"admin": uid}

		return v
	}
	cases := map[string]struct {
		reason   string
		exported Version
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
					v.Data = maps.Clone(v.Data)
					delete(v.Data, "former")
					s.write(12, v)
				},
			})

			got := s.Judge()
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
