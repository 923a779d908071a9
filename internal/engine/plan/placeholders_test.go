package plan_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

func TestPlaceholders(t *testing.T) {
	const raw = ", or r'...' around a text that is meant as it is"
	value := func(x string) string {
		return plantest.Exports(fmt.Sprintf("configMaps: [{name: a, data: [{key: k, value: %q}]}]", x))
	}
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"Shell": {
			reason: "the place is the beginning of the text",
			input:  value("'a' + 'b ${host} $(port)'"),
			want: []string{"configMaps[0].data[0].value:1:7: ${host} looks like a placeholder of a shell, Terraform or kro, but is used as it is: " +
				"write for example '...' + composite.spec.field + '...'" + raw},
		},
		"Meant": {
			reason: "a path of this function or of another one is written as an expression",
			input: plantest.Exports(`configMaps: [{name: a, data: [{key: a, value: "'${composite.spec.a}'"}, ` +
				`{key: b, value: "'{{ .observed.resources.db.resource.status.b }}'"}, {key: c, value: "'${schema.metadata.name}'"}]}]`),
			want: []string{
				"configMaps[0].data[0].value:1:1: ${composite.spec.a} looks like a placeholder of a shell, Terraform or kro, but is used as it is: " +
					"write '...' + composite.spec.a + '...'" + raw,
				"configMaps[0].data[1].value:1:1: {{ .observed.resources.db.resource.status.b }} looks like a placeholder of a Go template, " +
					"but is used as it is: write '...' + resources.db.status.b + '...'" + raw,
				"configMaps[0].data[2].value:1:1: ${schema.metadata.name} looks like a placeholder of a shell, Terraform or kro, " +
					"but is used as it is: write '...' + composite.metadata.name + '...'" + raw,
			},
		},
		"Raw":      {reason: "a raw text is meant as it is", input: value(`r'${x}' + R"""{{ .y }}""" + '$(z)'.replace(r'$(z)', 'a')`)},
		"Replaced": {reason: "a variable has the text, and another expression replaces the placeholder", input: plantest.Exports(`{variables: [{name: t, value: "'a ${HOST} b'"}], configMaps: [{name: a, data: [{key: a, value: "variables.t.replace('${HOST}', 'x')"}]}]}`)},
		"Literals": {
			reason: "literal fields, and the field for an expression",
			input:  plantest.Exports(`{sources: [{name: s, apiVersion: v1, kind: ConfigMap, matchName: '${a}'}], configMaps: [{name: a, metadata: {annotations: {a.b/c: '%(d)s'}}, data: [{key: k, value: sources.s.data.k}]}]}`),
			want: []string{
				"sources[0].matchName: ${a} looks like a placeholder of a shell, Terraform or kro, but is used as it is: write for example nameExpression: \"composite.metadata.name\"",
				"configMaps[0].metadata.annotations[a.b/c]: %(d)s looks like a placeholder of Python, but is used as it is: write for example annotationsExpression: \"{'a.b/c': composite.spec.field}\"",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, wrong := plantest.Compile(t, c.input)
			if len(wrong) > 0 {
				t.Fatalf("\n%s\nCompile(...): a warning must not be an error: %v", c.reason, wrong)
			}
			var got []string
			for _, w := range p.Warnings {
				got = append(got, w.Error())
				if !w.Warning {
					t.Errorf("\n%s\n%s is not marked as a warning", c.reason, w.Error())
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("\n%s\nCompile(...).Warnings: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
