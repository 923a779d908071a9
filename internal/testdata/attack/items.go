package attack

import (
	"fmt"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// itemRequests returns attacks with lists of items. Composite authors write the lists.
func itemRequests() map[string]Request {
	users := func(n, lists int, forEach, value string) fields {
		return fields{"configMaps": list(lists, func(i int) any {
			return fields{
				"name": fmt.Sprint("users", i), "forEachExpression": forEach, "keyExpression": "item.name",
				"data": list(n, func(k int) any { return fields{"key": fmt.Sprint("k-", k), "value": value} }),
			}
		})}
	}
	all := "composite.spec.users"
	atLimit := func(req *fnv1.RunFunctionRequest) {
		withUsers(limits.Items, "u#")(req)
		withObservedItems(limits.Items, 2)(req)
	}
	return map[string]Request{
		"items of a long list":     requestOf(users(1, 64, all, "item.name"), withUsers(60_000, "u#")),
		"items of a filtered list": requestOf(users(1, 64, all+".filter(u, u.name.endsWith('7'))", "item.name"), withUsers(60_000, "u#")),
		"items of a sorted list":   requestOf(users(1, 64, all+".sortBy(u, u.name)", "item.name"), withUsers(60_000, "u#")),
		"items at the limit":       requestOf(users(64, 2, all, "item.name + key + string(composite.spec.users.size())"), atLimit),
		"items with long keys":     requestOf(users(1, 64, all, "item.name"), withUsers(limits.Items, strings.Repeat("k", 12_000)+"#")),
		"items with the same key":  requestOf(users(1, 64, all, "item.name"), withUsers(limits.Items, "u")),
		"items that are kept":      requestOf(users(1, 64, all, "item.name"), withObservedItems(9_000, 1)),
	}
}

// withUsers writes a list of users into the composite. Their names are the name with their number instead of #.
func withUsers(n int, name string) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		users := &structpb.ListValue{}
		for i := range n {
			users.Values = append(users.Values, structpb.NewStructValue(structOf(fields{"name": strings.ReplaceAll(name, "#", fmt.Sprint(i))})))
		}
		spec := &structpb.Struct{Fields: map[string]*structpb.Value{"users": structpb.NewListValue(users)}}
		req.Observed.Composite.Resource.Fields["spec"] = structpb.NewStructValue(spec)
	}
}

// withObservedItems observes the objects of n items of some lists.
func withObservedItems(n, lists int) func(*fnv1.RunFunctionRequest) {
	return func(req *fnv1.RunFunctionRequest) {
		for i := range n * lists {
			name := fmt.Sprintf("users%d/u%d", i/n, i%n)
			o := structOf(fields{"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields{"name": strings.ReplaceAll(name, "/", "-"), "namespace": "team"}, "data": fields{"a": "b"}})
			req.Observed.Resources[name] = &fnv1.Resource{Resource: o}
		}
	}
}
