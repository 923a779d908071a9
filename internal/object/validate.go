package object

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

const (
	// MaxDataBytes is how many bytes the values of one object may have together.
	// It is MaxSecretSize of k8s.io/api/core/v1, which the API server applies to
	// ConfigMaps too; an object in etcd has to stay below 1.5 MiB.
	MaxDataBytes = 1 << 20

	// MaxMetadataBytes is how many bytes all labels, and all annotations, may
	// have together, keys and values. It is TotalAnnotationSizeLimitB of
	// k8s.io/apimachinery; the API server has no such limit for labels, but they
	// share the 1.5 MiB.
	MaxMetadataBytes = apivalidation.TotalAnnotationSizeLimitB

	// maxQuoted is how many bytes of a name an error text shows. A valid name of
	// 253 bytes would still make a line; one of a megabyte would not.
	maxQuoted = 80
)

// Validate says why the API server would refuse o, and what to change. It is
// nil for an object that may go to Crossplane. The errors are sorted, of one
// line each, and name kinds, names and keys, but never a value.
func (o *Object) Validate() []error {
	var errs []error
	if o.Kind != Secret && o.Kind != ConfigMap {
		errs = append(errs, fmt.Errorf("cannot compose kind %s: use %s or %s", quote(string(o.Kind)), Secret, ConfigMap))
	}
	errs = append(errs, ValidateName(o.Name), ValidateNamespace(o.Namespace))
	errs = append(errs, ValidateLabels(o.Labels)...)
	errs = append(errs, o.validateAnnotations()...)
	errs = append(errs, validateData(o.Data)...)
	errs = append(errs, o.validateType()...)
	return sorted(errs)
}

// ValidateName says why no Secret or ConfigMap can have a name, and what to
// change: it has to be a DNS-1123 subdomain of at most 253 characters.
func ValidateName(name string) error {
	const rule = "use lower-case letters, digits, '-' and '.', and start and end each part between dots with a letter or a digit"
	switch {
	case name == "":
		return errors.New("cannot use an empty name: give the object a name")
	case len(name) > validation.DNS1123SubdomainMaxLength:
		return tooLong("name", name, validation.DNS1123SubdomainMaxLength)
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		return fmt.Errorf("cannot use name %s: %s", quote(name), rule)
	}
	return nil
}

// ValidateNamespace says why no namespace can have a name, and what to change:
// it has to be a DNS-1123 label of at most 63 characters. It may not be empty,
// for every Secret and every ConfigMap lies in a namespace.
func ValidateNamespace(namespace string) error {
	const rule = "use lower-case letters, digits and '-', and start and end with a letter or a digit"
	switch {
	case namespace == "":
		return errors.New("cannot use an empty namespace: give the object a namespace")
	case len(namespace) > validation.DNS1123LabelMaxLength:
		return tooLong("namespace", namespace, validation.DNS1123LabelMaxLength)
	case len(validation.IsDNS1123Label(namespace)) > 0:
		return fmt.Errorf("cannot use namespace %s: %s", quote(namespace), rule)
	}
	return nil
}

// ValidateKey says why no Secret and no ConfigMap can have a key in its data,
// and what to change.
func ValidateKey(key string) error {
	const rule = "use letters, digits, '-', '_' and '.' only"
	switch {
	case key == "":
		return errors.New("cannot use an empty key: give it a name")
	case len(key) > validation.DNS1123SubdomainMaxLength:
		return tooLong("key", key, validation.DNS1123SubdomainMaxLength)
	case key == ".", strings.HasPrefix(key, ".."):
		return fmt.Errorf("cannot use key %s: it becomes a file name where the object is mounted; use another than '.', and none that starts with '..'", quote(key))
	case len(validation.IsConfigMapKey(key)) > 0:
		return fmt.Errorf("cannot use key %s: %s", quote(key), rule)
	}
	return nil
}

// ValidateLabels says why a user cannot have these labels, and what to change.
// The errors are sorted and hold no label's value.
func ValidateLabels(labels map[string]string) []error {
	var errs []error
	for key, value := range labels {
		errs = append(errs, validateMetadataKey("label", key, key), refuseReserved("label", key, crossplaneLabels))
		if len(content.IsLabelValue(value)) > 0 {
			errs = append(errs, fmt.Errorf("cannot use the value of label %s: use at most %d letters, digits, '-', '_' and '.', and start and end with a letter or a digit",
				quote(key), content.LabelValueMaxLength))
		}
	}
	return sorted(append(errs, tooBig("labels", labels, nil)))
}

// ValidateAnnotations says why a user cannot have these annotations, and what to
// change. The errors are sorted and hold no annotation's value.
func ValidateAnnotations(annotations map[string]string) []error {
	errs := validateAnnotations(annotations)
	return sorted(append(errs, tooBig("annotations", annotations, nil)))
}

// validateAnnotations judges all but the size of the users' annotations.
func validateAnnotations(annotations map[string]string) []error {
	var errs []error
	for key, value := range annotations {
		// As in apimachinery: the case of an annotation's prefix is free.
		errs = append(errs,
			validateMetadataKey("annotation", key, strings.ToLower(key)),
			refuseReserved("annotation", key, crossplaneAnnotations),
			notText("annotation", key, value))
	}
	return errs
}

// validateAnnotations judges the users' annotations and this function's own.
func (o *Object) validateAnnotations() []error {
	errs := validateAnnotations(o.Annotations)
	for key, value := range o.State {
		errs = append(errs, validateMetadataKey("annotation", key, key), notText("annotation", key, value))
		if !strings.HasPrefix(key, StatePrefix) {
			errs = append(errs, fmt.Errorf("cannot keep state in annotation %s: use one that starts with %q", quote(key), StatePrefix))
		}
	}
	return append(errs, tooBig("annotations", o.Annotations, o.State))
}

func validateData(data map[string]sensitive.Bytes) []error {
	if len(data) == 0 {
		return []error{errors.New("cannot compose an object without data: export at least one key")}
	}
	var errs []error
	size := 0
	for key, value := range data {
		errs = append(errs, ValidateKey(key))
		size += value.Len()
	}
	if size > MaxDataBytes {
		errs = append(errs, fmt.Errorf("cannot hold %d bytes of data in one object: export fewer keys or shorter values, at most %d bytes (1 MiB) together", size, MaxDataBytes))
	}
	return errs
}

// validateMetadataKey judges the key of a label or an annotation; qualified is
// the form of it that has to be a qualified name.
func validateMetadataKey(what, key, qualified string) error {
	if len(content.IsLabelKey(qualified)) == 0 {
		return nil
	}
	return fmt.Errorf("cannot use %s %s: use at most 63 letters, digits, '-', '_' and '.', with a letter or a digit at both ends, after an optional DNS name and '/'",
		what, quote(key))
}

// notText finds what protobuf cannot carry and JSON would change silently.
func notText(what, key, value string) error {
	if utf8.ValidString(value) {
		return nil
	}
	return fmt.Errorf("cannot use the value of %s %s: it is not UTF-8; encode it, for example as base64", what, quote(key))
}

func tooLong(what, name string, limit int) error {
	return fmt.Errorf("cannot use %s %s: it has %d characters; use at most %d", what, quote(name), len(name), limit)
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
	return fmt.Errorf("cannot hold %d bytes of %s: use at most %d bytes (256 KiB), keys and values together", size, what, MaxMetadataBytes)
}

// quote makes a name fit into one line of an error text.
func quote(name string) string {
	if len(name) <= maxQuoted {
		return fmt.Sprintf("%+q", name)
	}
	return fmt.Sprintf("%+q…", name[:maxQuoted])
}

// sorted drops what is nil and what is said twice.
func sorted(errs []error) []error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	errs = slices.CompactFunc(errs, func(a, b error) bool { return a.Error() == b.Error() })
	if len(errs) == 0 {
		return nil
	}
	return errs
}
