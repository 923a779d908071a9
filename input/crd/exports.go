// Package crd is the root of the CustomResourceDefinition of the input. Only controller-gen reads it: it finds a kind
// by its types of Kubernetes, which the program does not need.
//
// +groupName=export.fn.crossplane.io
// +versionName=v1beta1
package crd

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// Exports declares which values a Composition exports, and to which objects.
//
// An Exports is never stored. Crossplane passes it to the function as it is in the Composition, without
// validation, so the function checks it against this schema itself.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=crossplane
// +kubebuilder:validation:XValidation:rule="!has(self.secrets) || !has(self.configMaps) || !self.secrets.exists(s, self.configMaps.exists(c, c.name == s.name))",message="each name in secrets and configMaps is a composition resource name, and must be unique across both lists"
type Exports struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	v1beta1.Spec      `json:",inline"`
}
