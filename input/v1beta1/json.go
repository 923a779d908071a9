package v1beta1

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// This file has the types of Kubernetes that the input uses. They are declared here because Kubernetes' own packages
// bring serializers, schemes and clients, which take a megabyte of the program.

// ObjectMeta is the metadata of an input, which has no meaning.
type ObjectMeta struct{}

// A Duration is written as in Go, for example 1h30m.
//
// +kubebuilder:validation:Type=string
type Duration struct{ time.Duration }

// UnmarshalJSON reads a text.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("cannot read a duration: %w", err)
	}
	var err error
	d.Duration, err = time.ParseDuration(text)
	return err
}

// MarshalJSON writes the text: generations keep what made them.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// JSON is an object that is kept as it is written.
//
// +kubebuilder:validation:Type=object
type JSON struct {
	Raw []byte `json:"-"`
}

// UnmarshalJSON keeps everything except null.
func (j *JSON) UnmarshalJSON(raw []byte) error {
	if string(raw) != "null" {
		j.Raw = slices.Clone(raw)
	}
	return nil
}

// MarshalJSON writes what was read.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j.Raw == nil {
		return []byte("null"), nil
	}
	return j.Raw, nil
}
