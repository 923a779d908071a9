package object

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

const (
	// MaxDataBytes is the maximum total size of the values of one object. It is MaxSecretSize of
	// k8s.io/api/core/v1, which the API server also applies to ConfigMaps.
	MaxDataBytes = 1 << 20

	// MaxMetadataBytes is the maximum total size of all labels, and of all annotations, with keys and values. It is
	// TotalAnnotationSizeLimitB of k8s.io/apimachinery. The API server has no such limit for labels, but an object in
	// etcd must stay below 1.5 MiB.
	MaxMetadataBytes = 256 << 10

	// maxQuoted is the number of bytes of a name that an error shows, because a name may have a megabyte.
	maxQuoted = 80
)

// Validate returns why the API server would refuse o, and what to change. It is nil for a valid object. The
// errors are sorted and have one line each. They contain kinds, names and keys, but never a value.
func (o *Object) Validate() []error {
	var errs []error
	if o.Kind != Secret && o.Kind != ConfigMap {
		errs = append(errs, fmt.Errorf("cannot compose kind %s: use %s or %s", quote(string(o.Kind)), Secret, ConfigMap))
	}
	errs = adding(errs, ValidateName(o.Name), ValidateNamespace(o.Namespace))
	errs = append(errs, ValidateLabels(o.Labels)...)
	errs = append(errs, annotationErrors(o.Annotations, o.State)...)
	errs = append(errs, dataErrors(o.Data)...)
	errs = append(errs, o.validateType()...)
	return sorted(errs)
}

// A nameRule is a rule of the API server for names.
type nameRule struct {
	what, ifEmpty, ifWrong string
	maxLength              int
	errors                 func(name string) []string
}

var (
	nameOfObject = nameRule{
		"name", "set a name for the object",
		"use lower-case letters, digits, '-' and '.', and start and end each part between dots with a letter or a digit",
		validation.DNS1123SubdomainMaxLength, validation.IsDNS1123Subdomain,
	}
	nameOfNamespace = nameRule{
		"namespace", "set a namespace for the object",
		"use lower-case letters, digits and '-', and start and end with a letter or a digit",
		validation.DNS1123LabelMaxLength, validation.IsDNS1123Label,
	}
	nameOfItem = nameRule{
		"key", "give the item a name", nameOfNamespace.ifWrong,
		validation.DNS1123LabelMaxLength, validation.IsDNS1123Label,
	}
	nameOfKey = nameRule{
		"key", "give it a name", "use letters, digits, '-', '_' and '.' only",
		validation.DNS1123SubdomainMaxLength, validation.IsConfigMapKey,
	}
)

func (r nameRule) check(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("cannot use an empty %s: %s", r.what, r.ifEmpty)
	case len(name) > r.maxLength:
		const text = "cannot use %s %s: it has %d characters; use at most %d"
		return fmt.Errorf(text, r.what, quote(name), len(name), r.maxLength)
	case len(r.errors(name)) > 0:
		return fmt.Errorf("cannot use %s %s: %s", r.what, quote(name), r.ifWrong)
	}
	return nil
}

// ValidateName returns why a name is invalid for a Secret or ConfigMap, and what to change.
func ValidateName(name string) error { return nameOfObject.check(name) }

// ValidateNamespace returns why a name is invalid for a namespace, and what to change. It must not be empty, because
// every Secret and ConfigMap has a namespace.
func ValidateNamespace(namespace string) error { return nameOfNamespace.check(namespace) }

// ValidateItemKey returns why a key cannot identify an item, and what to change: it is part of names.
func ValidateItemKey(key string) error { return nameOfItem.check(key) }

// ValidateKey returns why a key is invalid in the data of a Secret or ConfigMap, and what to change.
func ValidateKey(key string) error {
	if len(key) <= nameOfKey.maxLength && (key == "." || strings.HasPrefix(key, "..")) {
		return fmt.Errorf("cannot use key %s: it becomes a file name where the object is mounted; "+
			"use another than '.', and none that starts with '..'", quote(key))
	}
	return nameOfKey.check(key)
}

// ValidateLabels returns why a user cannot set these labels, and what to change. The errors are sorted and contain
// no value of a label.
func ValidateLabels(labels map[string]string) []error {
	var errs []error
	for key, value := range labels {
		errs = adding(errs, validateMetadataKey("label", key, key), refuseReserved("label", key, crossplaneLabels))
		if len(content.IsLabelValue(value)) > 0 {
			errs = append(errs, fmt.Errorf("cannot use the value of label %s: use at most %d letters, digits, '-', '_' "+
				"and '.', and start and end with a letter or a digit, or write an annotation, which can have any text",
				quote(key), content.LabelValueMaxLength))
		}
	}
	return sorted(adding(errs, tooBig("labels", labels, nil)))
}

// ValidateAnnotations returns why a user cannot set these annotations, and what to change. The errors are sorted and
// contain no value of an annotation.
func ValidateAnnotations(annotations map[string]string) []error {
	return sorted(annotationErrors(annotations, nil))
}

// annotationErrors checks the user's annotations and this function's own.
func annotationErrors(users, state map[string]string) []error {
	var errs []error
	for key, value := range users {
		errs = adding(errs,
			validateMetadataKey("annotation", key, strings.ToLower(key)), // its prefix may have upper case
			refuseReserved("annotation", key, crossplaneAnnotations), notText(key, value))
	}
	for key, value := range state {
		errs = adding(errs, validateMetadataKey("annotation", key, key), notText(key, value))
		if !strings.HasPrefix(key, StatePrefix) {
			const text = "cannot keep state in annotation %s: use one that starts with %q"
			errs = append(errs, fmt.Errorf(text, quote(key), StatePrefix))
		}
	}
	return adding(errs, tooBig("annotations", users, state))
}

func dataErrors(data map[string]sensitive.Bytes) []error {
	if len(data) == 0 {
		return []error{errors.New("cannot compose an object without data: export at least one key")}
	}
	var errs []error
	size := 0
	for key, value := range data {
		errs = adding(errs, ValidateKey(key))
		size += value.Len()
	}
	if size > MaxDataBytes {
		errs = append(errs, fmt.Errorf("cannot hold %d bytes of data in one object: "+
			"export fewer keys or shorter values, at most %d bytes (1 MiB) together", size, MaxDataBytes))
	}
	return errs
}

// validateMetadataKey checks the key of a label or an annotation. The argument qualified is the form of the key that
// must be a qualified name.
func validateMetadataKey(what, key, qualified string) error {
	if len(content.IsLabelKey(qualified)) == 0 {
		return nil
	}
	return fmt.Errorf("cannot use %s %s: use at most 63 letters, digits, '-', '_' and '.', with a letter or a digit "+
		"at both ends, after an optional DNS name and '/'", what, quote(key))
}

// notText finds a value that protobuf cannot carry and JSON would change silently.
func notText(key, value string) error {
	if utf8.ValidString(value) {
		return nil
	}
	const text = "cannot use the value of annotation %s: it is not UTF-8; encode it, for example as base64"
	return fmt.Errorf(text, quote(key))
}

func tooBig(what string, a, b map[string]string) error {
	size := 0
	for _, m := range []map[string]string{a, b} {
		for key, value := range m {
			size += len(key) + len(value)
		}
	}
	if size <= MaxMetadataBytes {
		return nil
	}
	const text = "cannot hold %d bytes of %s: use at most %d bytes (256 KiB), keys and values together"
	return fmt.Errorf(text, size, what, MaxMetadataBytes)
}

// quote shortens a long name, so that an error text has one line.
func quote(name string) string {
	if len(name) <= maxQuoted {
		return fmt.Sprintf("%+q", name)
	}
	return fmt.Sprintf("%+q…", name[:maxQuoted])
}

// adding adds errors that are not nil.
func adding(errs []error, more ...error) []error {
	for _, err := range more {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// sorted sorts errors, and removes repeated errors.
func sorted(errs []error) []error {
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	errs = slices.CompactFunc(errs, func(a, b error) bool { return a.Error() == b.Error() })
	if len(errs) == 0 {
		return nil
	}
	return errs
}
