package observation

import (
	"errors"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// copies are the annotations in which tools keep a copy of the applied object, which may be a Secret or contain one:
// kubectl, Kapp, Rancher, Kopf and the operators of Banzai Cloud.
var copies = []string{
	"kubectl.kubernetes.io/last-applied-configuration",
	"kapp.k14s.io/original",
	"objectset.rio.cattle.io/applied",
	"kopf.zalando.org/last-handled-configuration",
	"banzaicloud.com/last-applied",
}

// HoldsCopy reports whether an annotation with that name contains a copy of the applied object. Expressions cannot
// read it in any map.
func HoldsCopy(name string) bool { return slices.Contains(copies, name) }

// secretFields are the fields with the data of a v1 Secret, or of a list of Secrets, whose items may have no kind.
var secretFields = []string{"data", "stringData", "items"}

func (m fields) hidden(key string) bool {
	return HoldsCopy(key) || m.isSecret && slices.Contains(secretFields, key)
}

// The reasons why an expression fails that reads a hidden field. Without them it would wait forever.
var (
	hiddenData = &expression.Failed{Reason: "reads the data of a v1 Secret, which is hidden here: " +
		"read it as secrets.<name>, by a source of kind Secret"}
	hiddenCopy = &expression.Failed{Reason: "reads an annotation that holds a copy of an object, which is hidden: " +
		"read the object's own fields"}
)

func hiddenError(key string) ref.Val {
	if HoldsCopy(key) {
		return types.WrapErr(hiddenCopy)
	}
	return types.WrapErr(hiddenData)
}

func isHidden(v ref.Val) bool {
	err, _ := v.Value().(error)
	return errors.Is(err, hiddenData) || errors.Is(err, hiddenCopy)
}
