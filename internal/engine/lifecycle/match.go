package lifecycle

import (
	"slices"
	"strconv"
	"strings"
)

// another precedes a number in the names that FreeName returns. The input cannot have such names.
const another = "~"

// FreeName returns a composition resource name that is not taken: the slot's own, or one that no slot has.
func FreeName(own string, taken func(name string) bool) string {
	name := own
	for n := 2; taken(name); n++ {
		name = own + another + strconv.Itoa(n)
	}
	return name
}

// Match returns the object of each slot among those that Crossplane shows, or nil.
//
// A slot has the object that is shown under its name, or that it took over before. Such an object stays where it is. A
// slot without an object takes over the one at its place, if no slot has the object's name, or if the slot with this
// name takes another one or gets a new one. So an object whose annotation was edited is found at its place, and slots
// can swap their objects.
func Match(slots []*Slot, shown []Object) []*Object {
	out := make([]*Object, len(slots))
	if len(shown) == 0 {
		return out
	}
	m := matcher{
		byName: map[string]*Slot{}, at: map[Place]*Object{}, own: map[*Slot]*Object{}, lacks: map[*Slot]bool{},
		wants: map[Place][]*Slot{},
	}
	for _, s := range slots {
		m.byName[s.Name] = s
		if s.Want == Yes && s.Place.Name != "" {
			m.wants[s.Place] = append(m.wants[s.Place], s)
		}
	}
	for i := range shown {
		o := &shown[i]
		if o.Owner == Own {
			m.at[o.Place] = o
		}
		if s := m.slotOf(o); s != nil && rank(s, o) > rank(s, m.own[s]) {
			m.own[s] = o
		}
	}
	m.findLacking(slots)
	for i, s := range slots {
		out[i] = m.match(s)
	}
	return out
}

type matcher struct {
	byName map[string]*Slot
	wants  map[Place][]*Slot
	at     map[Place]*Object // that a slot can take over
	own    map[*Slot]*Object // that the slot has had
	lacks  map[*Slot]bool    // slots without an object of their own
}

// slotOf returns the slot that took an object over, or that has its name, or nil. A seal does not lead the data of a
// slot to another namespace. At its place, a slot also has the names that [FreeName] returned for it.
func (m *matcher) slotOf(o *Object) *Slot {
	if s := m.byName[o.TookOver]; s != nil && s.Place.Namespace == o.Place.Namespace {
		return s
	}
	name, _, free := strings.Cut(o.Name, another)
	if s := m.byName[name]; s != nil && (!free || o.Place == s.Place) {
		return s
	}
	return nil
}

// rank orders the objects that may be a slot's own.
func rank(s *Slot, o *Object) int {
	switch {
	case o == nil:
		return 0
	case o.Place == s.Place:
		return 3
	case o.Name == s.Name:
		return 2
	}
	return 1
}

// findLacking finds the slots that have no object, or whose object is at the place of another one of these slots, which
// takes it. In a circle, each slot takes the object at its place.
func (m *matcher) findLacking(slots []*Slot) {
	for _, s := range slots {
		o := m.own[s]
		m.lacks[s] = o == nil || o.Owner == Own && o.Place != s.Place && s.Want == Yes && s.Place.Name != ""
	}
	for changed := true; changed; {
		changed = false
		for _, s := range slots {
			if o := m.own[s]; o != nil && m.lacks[s] && !slices.ContainsFunc(m.wants[o.Place], m.isLacking) {
				m.lacks[s], changed = false, true
			}
		}
	}
}

func (m *matcher) isLacking(s *Slot) bool { return m.lacks[s] }

func (m *matcher) match(s *Slot) *Object {
	if !m.lacks[s] {
		return m.own[s]
	}
	o := m.at[s.Place]
	if o == nil || s.Want != Yes {
		return nil
	}
	if has := m.slotOf(o); has != nil && m.own[has] == o && !m.lacks[has] {
		return nil
	}
	return o
}
