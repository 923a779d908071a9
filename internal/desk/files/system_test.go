package files

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// A file system without a disk has names from its root, and a text that is not saved takes precedence.
func TestSystem(t *testing.T) {
	const input = "{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports}"
	disk := fstest.MapFS{
		"apis/one.yaml":          {Data: []byte(input)},
		"apis/two/two.yml":       {Data: []byte("kind: Other")},
		"apis/.hidden/no.yaml":   {Data: []byte(input)},
		"apis/" + SettingsFile:   {Data: []byte("nonsense: 1")},
		"other/" + SettingsFile:  {Data: []byte("nonsense: 1")},
		"apis/two/notes.txt":     {Data: []byte(input)},
		"apis/two/schema.json":   {Data: []byte("{}")},
		"apis/two/deep/one.yaml": {Data: []byte("kind: Other")},
	}
	type found struct {
		Steps []string // files with an input
		Wrong []string // files with a diagnostic
	}
	for name, c := range map[string]struct {
		reason string
		paths  []string
		texts  map[string]string
		want   found
	}{
		"Folder": {"all YAML files below it, with its settings", []string{"apis"}, nil,
			found{[]string{"apis/one.yaml"}, []string{"apis/" + SettingsFile}}},
		"Pattern": {"a pattern", []string{"*/*.yaml"}, nil, found{[]string{"apis/one.yaml"},
			[]string{"apis/" + SettingsFile}}},
		"Twice": {"a file that two paths name is read once", []string{"apis/one.yaml", "apis/*.yaml"}, nil,
			found{[]string{"apis/one.yaml"}, []string{"apis/" + SettingsFile}}},
		"Unsaved": {"a text in the editor", []string{"apis/two/two.yml", "apis/one.yaml"},
			map[string]string{"apis/one.yaml": "kind: Other", "apis/two/two.yml": input},
			found{[]string{"apis/two/two.yml"}, []string{"apis/" + SettingsFile}}},
		"New": {"a file that was never saved", []string{"new.yaml"}, map[string]string{"new.yaml": input},
			found{[]string{"new.yaml"}, nil}},
		"Settings": {"settings in the editor", []string{"apis"}, map[string]string{"apis/" + SettingsFile: "rules: " +
			"{}"}, found{[]string{"apis/one.yaml"}, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := (&System{FS: disk, Texts: c.texts}).Load(c.paths, Flags{})
			if err != nil {
				t.Fatal(err)
			}
			var got found
			for _, s := range in.Steps {
				got.Steps = append(got.Steps, s.File)
			}
			for _, d := range in.Unread {
				got.Wrong = append(got.Wrong, d.File)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
