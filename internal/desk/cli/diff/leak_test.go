package diff

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// TestNothingLeaks: no output has a value of a Secret, wherever a copy of one is.
func TestNothingLeaks(t *testing.T) {
	dump := cluster(t, composed(input), instance("team-a", "orders"))
	dump = strings.ReplaceAll(dump, "      export.fn.crossplane.io/revision:", "      copy: "+marked+
		"-annotation\n      export.fn.crossplane.io/revision:")
	broken := strings.Replace(dump, "kind: List", "kind: List: "+marked, 1)
	n := 0
	for _, state := range []string{dump, broken, strings.ReplaceAll(dump, "username: ", "username: "+marked+": ")} {
		for i, changes := range [][]string{
			{"length: 24", "length: 32"}, {"secret.username}]", "secret.password}]"}, {"name: conn", "name: connection"},
			{"secret.username}]", "json.parse(secret.username).x}]"}, {"secret.username}]", "string(int(secret.username))}]"},
			{"'postgres://'", "'" + marked + "-literal'"}, {"secret.username}]", "secret.nope}]"},
			{"resources.db.status.endpoint}", "resources.db.status.nested}"},
			{"status:\n", "configMaps:\n- name: map\n  data: [{key: k, value: resources.db.status.nested}]\nstatus:\n"},
			{"name: conn\n", "name: conn\n  metadata: {annotationsExpression: \"{'a': resources.db.status.nested}\"}\n"},
		} {
			for _, output := range []string{"text", "json", "markdown", "github"}[:4-2*min(i, 1)] { // all formats once
				out, _ := run(t, Command{Output: output}, composed(with(t, changes...)), state)
				for _, mark := range []string{marked, base64.StdEncoding.EncodeToString([]byte(marked))[:8]} {
					out = strings.ReplaceAll(out, "'"+marked+"-literal'", "") // the Composition's own text
					if strings.Contains(out, mark) {
						t.Errorf("%v: %s has a value:\n%s", changes, output, out)
					}
				}
				if strings.Contains(out, "orders") {
					n++
				}
			}
		}
	}
	if fmt.Sprint(n) == "0" {
		t.Error("no output is about the composite")
	}
}
