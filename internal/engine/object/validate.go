package object

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// MaxDataBytes is the maximum total size of the values of one object. It is MaxSecretSize of
	// k8s.io/api/core/v1, which the API server also applies to ConfigMaps.
	MaxDataBytes = 1 << 20

	// MaxMetadataBytes is the maximum total size of all annotations, with keys and values. It is
	// TotalAnnotationSizeLimitB of k8s.io/apimachinery.
	MaxMetadataBytes = 256 << 10

	// maxQuoted is the number of bytes of a name that an error shows, because a name may have a megabyte.
	maxQuoted = 80
)

// StatePrefix begins the names of this function's own annotations. Users cannot set a label or an annotation with it,
// because the function reads generator state from there.
const StatePrefix = "export.fn.crossplane.io/"

// annotationResourceName holds the composition resource name.
const annotationResourceName = "crossplane.io/composition-resource-name"

const setByCrossplane = "Crossplane sets it to find the objects of a composite again"

// Labels and annotations that Crossplane or kubectl sets, with the reason why users cannot set them. Source: the keys
// in pkg/xcrd of crossplane-runtime v2.4.0, as set by RenderComposedResourceMetadata.
var (
	crossplaneLabels = map[string]string{
		"crossplane.io/composite":       setByCrossplane,
		"crossplane.io/claim-name":      setByCrossplane,
		"crossplane.io/claim-namespace": setByCrossplane,
	}
	crossplaneAnnotations = map[string]string{
		annotationResourceName:                             setByCrossplane,
		"kubectl.kubernetes.io/last-applied-configuration": "kubectl keeps a copy of all data in it, also of a Secret's",
	}
)

// IsReserved reports whether Crossplane, kubectl or this function sets a label or an annotation, so that
// users cannot.
func IsReserved(key string) bool {
	return crossplaneLabels[key] != "" || crossplaneAnnotations[key] != "" || strings.HasPrefix(key, StatePrefix)
}

const typeOpaque = "Opaque"

// requiredKeys are the keys that each Secret of a type has. Source: ValidateSecret in pkg/apis/core/validation of
// Kubernetes v1.36.3.
var requiredKeys = map[string][]string{
	"kubernetes.io/tls":              {"tls.crt", "tls.key"},
	"kubernetes.io/dockerconfigjson": {".dockerconfigjson"},
	"kubernetes.io/dockercfg":        {".dockercfg"},
	"kubernetes.io/ssh-auth":         {"ssh-privatekey"},
}

// RequiredKeys returns the keys that each Secret of a type has.
func RequiredKeys(typ string) []string { return requiredKeys[typ] }

// Validate returns why the API server would refuse o, and what to change. It is nil for a valid object. The
// errors are sorted and have one line each. They contain names and keys, but never a value.
func (o *Object) Validate() []error {
	errs := adding(o.validateType(), ValidateName(o.Name), ValidateNamespace(o.Namespace), o.validateData())
	for key := range o.Data {
		errs = adding(errs, ValidateKey(key))
	}
	errs = append(errs, ValidateLabels(o.Labels)...)
	errs = append(errs, validateAnnotations(o.Annotations, o.State)...)
	return sorted(errs)
}

func (o *Object) validateData() error {
	size := 0
	for _, value := range o.Data {
		size += value.Len()
	}
	switch {
	case len(o.Data) == 0:
		return errors.New("cannot compose an object without data: export at least one key")
	case size > MaxDataBytes:
		return fmt.Errorf("cannot hold %d bytes of data in one object: "+
			"export fewer keys or shorter values, at most %d bytes (1 MiB) together", size, MaxDataBytes)
	}
	return nil
}

// validateType returns an error for each key that the type of a Secret requires and the data lacks.
func (o *Object) validateType() (errs []error) {
	has := func(key string) bool { _, ok := o.Data[key]; return ok }
	missing := slices.DeleteFunc(slices.Clone(requiredKeys[o.Type]), has)
	if o.Type == "kubernetes.io/basic-auth" && !has("username") && !has("password") { // one of them is enough
		missing = []string{"username"}
	}
	for _, key := range missing {
		errs = append(errs, fmt.Errorf("cannot make a Secret of type %q without key %q: add it to data", o.Type, key))
	}
	return errs
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
		errs = adding(errs, validateMetadataKey("label", key, key, crossplaneLabels))
		if len(content.IsLabelValue(value)) > 0 {
			errs = append(errs, fmt.Errorf("cannot use the value of label %s: use at most %d letters, digits, "+
				"'-', '_' and '.', and start and end with a letter or a digit, or write an annotation, which can have "+
				"any text",
				quote(key), content.LabelValueMaxLength))
		}
	}
	return sorted(errs)
}

// ValidateAnnotations returns why a user cannot set these annotations, and what to change. The errors are sorted and
// contain no value of an annotation.
func ValidateAnnotations(annotations map[string]string) []error {
	return sorted(validateAnnotations(annotations, nil))
}

// validateAnnotations checks the user's annotations, together with those of this function.
func validateAnnotations(users, state map[string]string) []error {
	var errs []error
	for key, value := range users { // the prefix of a key may have upper case
		errs = adding(errs, validateMetadataKey("annotation", key, strings.ToLower(key), crossplaneAnnotations))
		if !utf8.ValidString(value) { // protobuf cannot carry it, and JSON would change it
			const text = "cannot use the value of annotation %s: it is not UTF-8; encode it, for example as base64"
			errs = append(errs, fmt.Errorf(text, quote(key)))
		}
	}
	if size := TextBytes(users) + TextBytes(state); size > MaxMetadataBytes {
		const text = "cannot hold %d bytes of annotations: use at most %d bytes (256 KiB), keys and values together"
		errs = append(errs, fmt.Errorf(text, size, MaxMetadataBytes))
	}
	return errs
}

// validateMetadataKey checks the key of a label or an annotation. The argument qualified is the form of the key that
// must be a qualified name.
func validateMetadataKey(what, key, qualified string, reserved map[string]string) error {
	switch {
	case len(content.IsLabelKey(qualified)) > 0:
		return fmt.Errorf("cannot use %s %s: use at most 63 letters, digits, '-', '_' and '.', with a letter "+
			"or a digit at both ends, after an optional DNS name and '/'", what, quote(key))
	case strings.HasPrefix(key, StatePrefix):
		return fmt.Errorf("cannot set %s %s: function-export keeps its own state there; leave it out", what, quote(key))
	case reserved[key] != "":
		return fmt.Errorf("cannot set %s %s: %s; leave it out", what, quote(key), reserved[key])
	}
	return nil
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
	return append(errs, slices.DeleteFunc(more, func(err error) bool { return err == nil })...)
}

func sorted(errs []error) []error {
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}
