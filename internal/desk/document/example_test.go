package document_test

import (
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
)

// A diagnostic in an expression, at its second line, is shown at its place in the file.
func ExampleDocument_Within() {
	docs, err := document.Parse("kind: Exports\nsecrets:\n- data:\n  - value: |\n      secret.user +\n        " +
		"secret.pasword\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	at, exact := docs[0].Within(2, 10, "secrets", 0, "data", 0, "value")
	fmt.Println(at.Line, at.Column, exact)
	fmt.Println(docs[0].Line(at.Line)[at.Column-1:])
	// Output:
	// 6 16 true
	// pasword
}

// A file that cannot be read is told so without a word of it.
func ExampleParse() {
	_, diagnostics := document.Parse("data:\n  password: hunter2\n  password: hunter3\n")
	fmt.Println(diagnostics[0])
	// Output:
	// 3:3: the same key as in line 2: remove one of them, or move what it contains to the other
}
