package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// objectMeta is the schema of the metadata of each object.
var objectMeta = once[metav1.ObjectMeta]()

// builtIns are the kinds of Kubernetes that are common in Compositions, and that no definition declares.
var builtIns = map[Kind]func() *structpb.Struct{
	{"v1", "ConfigMap"}:             once[corev1.ConfigMap](),
	{"v1", "Namespace"}:             once[corev1.Namespace](),
	{"v1", "PersistentVolumeClaim"}: once[corev1.PersistentVolumeClaim](),
	{"v1", "Pod"}:                   once[corev1.Pod](),
	{"v1", "Secret"}:                once[corev1.Secret]("data", "stringData"), // no expression reads them
	{"v1", "Service"}:               once[corev1.Service](),
	{"v1", "ServiceAccount"}:        once[corev1.ServiceAccount](),

	{"apps/v1", "DaemonSet"}:   once[appsv1.DaemonSet](),
	{"apps/v1", "Deployment"}:  once[appsv1.Deployment](),
	{"apps/v1", "StatefulSet"}: once[appsv1.StatefulSet](),

	{"batch/v1", "CronJob"}: once[batchv1.CronJob](),
	{"batch/v1", "Job"}:     once[batchv1.Job](),

	{"networking.k8s.io/v1", "Ingress"}:       once[networkingv1.Ingress](),
	{"networking.k8s.io/v1", "NetworkPolicy"}: once[networkingv1.NetworkPolicy](),

	{"rbac.authorization.k8s.io/v1", "ClusterRole"}:        once[rbacv1.ClusterRole](),
	{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding"}: once[rbacv1.ClusterRoleBinding](),
	{"rbac.authorization.k8s.io/v1", "Role"}:               once[rbacv1.Role](),
	{"rbac.authorization.k8s.io/v1", "RoleBinding"}:        once[rbacv1.RoleBinding](),
}

// builtIn returns the schema of a kind of Kubernetes, or nil if it is unknown. It lacks fields that are
// newer than the Kubernetes library. The result is shared, and must not be changed.
func builtIn(k Kind) *structpb.Struct {
	if s, ok := builtIns[k]; ok {
		return s()
	}
	return nil
}

// builtInScope returns the scope of a kind of Kubernetes.
func builtInScope(k Kind) Scope {
	switch _, known := builtIns[k]; {
	case !known:
		return ""
	case k.Kind == "Namespace" || strings.HasPrefix(k.Kind, "ClusterRole"):
		return Cluster
	}
	return Namespaced
}

// once returns a function that builds the schema of a Go type on its first call.
func once[T any](without ...string) func() *structpb.Struct {
	return sync.OnceValue(func() *structpb.Struct {
		s := ofType(reflect.TypeFor[T](), nil)
		for _, name := range without {
			delete(node{s}.properties(), name)
		}
		return s
	})
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// ofType returns the schema of a Go type in JSON. A type with its own encoding, except time, may be any
// value. A type inside itself may also be any value.
func ofType(t reflect.Type, above []reflect.Type) *structpb.Struct {
	switch {
	case slices.Contains(above, t):
		return anything()
	case t == reflect.TypeFor[metav1.Time](), t == reflect.TypeFor[metav1.MicroTime]():
		return scalar("string")
	case t.Kind() == reflect.Pointer:
		return ofType(t.Elem(), above)
	case t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler):
		return anything()
	}
	switch t.Kind() {
	case reflect.String:
		return scalar("string")
	case reflect.Bool:
		return scalar("boolean")
	case reflect.Int, reflect.Int32, reflect.Int64:
		return scalar("integer")
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return scalar("string")
		}
		return list(ofType(t.Elem(), above))
	case reflect.Map:
		return ofKey(ofType(t.Elem(), above))
	case reflect.Struct:
		fields := map[string]*structpb.Struct{}
		addFields(fields, t, append(above, t))
		return objectOf(fields)
	default:
		return anything()
	}
}

func addFields(fields map[string]*structpb.Struct, t reflect.Type, above []reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			addFields(fields, f.Type, above)
		case name != "":
			fields[name] = ofType(f.Type, above)
		}
	}
}
