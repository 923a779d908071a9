package rewrite_test

import (
	"context"
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/rewrite"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// An application wants other names than the resource gives.
func Example() {
	r, _ := rewrite.Compile(rewrite.Options{Rules: []rewrite.Rule{
		{Regexp: &rewrite.Regexp{Source: "^db/(.*)$", Target: "DB_$1"}},
		{Transform: &rewrite.Transform{Template: "{{ .value | upper }}"}},
	}})
	keys, err := r.Apply(budget.New(context.Background()), []rewrite.Key{
		{Name: "db/password", Value: sensitive.FromString("hunter2"), Origins: []rewrite.Origin{{Input: "db", Key: "password"}}},
		{Name: "db/host", Value: sensitive.FromString("db.local"), Origins: []rewrite.Origin{{Input: "db", Key: "host"}}},
	})
	if err != nil {
		fmt.Println(err)
	}
	for _, k := range keys {
		fmt.Println(k.Name, k.Value, k.Origins)
	}
	// Output:
	// DB_HOST [redacted] ["host" of "db"]
	// DB_PASSWORD [redacted] ["password" of "db"]
}

// A target that means another group than it says is refused when it is compiled.
func ExampleCompile_fault() {
	_, faults := rewrite.Compile(rewrite.Options{Rules: []rewrite.Rule{
		{Regexp: &rewrite.Regexp{Source: "^(.*)$", Target: "$1_DB"}},
	}})
	for _, f := range faults {
		fmt.Println(f.Error())
	}
	// Output:
	// rewrite[0].regexp.target:1:1: $1_DB refers to the group "1_DB", which source does not have, and is replaced by nothing: write ${1}_DB for the group 1 and the text _DB
}
