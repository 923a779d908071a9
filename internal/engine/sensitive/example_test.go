package sensitive_test

import (
	"encoding/json"
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// A value shows itself to Reveal and to nothing else.
func ExampleBytes() {
	password := sensitive.FromString("hunter2")
	login := struct {
		User     string
		Password sensitive.Bytes
	}{"admin", password}

	out, err := json.Marshal(login)
	fmt.Println(string(out), err)
	fmt.Printf("%s %x %+v\n", password, password, login)
	fmt.Printf("%s\n", password.Reveal())
	// Output:
	// {"User":"admin","Password":"[redacted]"} <nil>
	// [redacted] [redacted] {User:admin Password:[redacted]}
	// hunter2
}
