package schema

import (
	"encoding/json"
	"reflect"
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

// Kinds of Kubernetes itself that nobody declares, and that Compositions have.
var builtIns = map[Kind]func() *structpb.Struct{
	{"v1", "ConfigMap"}:             once[corev1.ConfigMap](),
	{"v1", "Namespace"}:             once[corev1.Namespace](),
	{"v1", "PersistentVolumeClaim"}: once[corev1.PersistentVolumeClaim](),
	{"v1", "Pod"}:                   once[corev1.Pod](),
	{"v1", "Secret"}:                once[corev1.Secret]("data", "stringData"), // which no expression sees there
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

// builtIn is the schema of a kind of Kubernetes itself, nil if it is not known. A
// Secret's has no data. It is as new as the Kubernetes library: a field that is newer
// is not in it. The result is shared, and must not be changed.
func builtIn(k Kind) *structpb.Struct {
	if s, ok := builtIns[k]; ok {
		return s()
	}
	return nil
}

// once makes the schema of a Go type when it is asked for.
func once[T any](without ...string) func() *structpb.Struct {
	return sync.OnceValue(func() *structpb.Struct {
		s := ofType(reflect.TypeFor[T](), nil)
		for _, name := range without {
			delete(node{s}.properties(), name)
		}
		return s
	})
}

var (
	times     = []reflect.Type{reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]()}
	marshaler = reflect.TypeFor[json.Marshaler]()
)

// ofType is the schema of what a Go type is in JSON. What writes its JSON itself, but
// a time, may be anything.
func ofType(t reflect.Type, above []reflect.Type) *structpb.Struct {
	for _, u := range above {
		if u == t {
			return anything()
		}
	}
	switch {
	case t == times[0] || t == times[1]:
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
		ofFields(t, append(above, t), fields)
		return objectOf(fields)
	}
	return anything()
}

func ofFields(t reflect.Type, above []reflect.Type, into map[string]*structpb.Struct) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			ofFields(f.Type, above, into)
		case name != "":
			into[name] = ofType(f.Type, above)
		}
	}
}
