package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShowsColors(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		env    map[string]string
		system string
		want   bool
	}{
		"Plain":           {"An ordinary terminal.", map[string]string{"TERM": "xterm"}, "linux", true},
		"NoTERM":          {"Without TERM, it is a terminal anyway.", nil, "darwin", true},
		"NoColor":         {"NO_COLOR with any text.", map[string]string{"NO_COLOR": "0"}, "linux", false},
		"EmptyNoColor":    {"NO_COLOR without a text does nothing.", map[string]string{"NO_COLOR": ""}, "linux", true},
		"Dumb":            {"A terminal without colors.", map[string]string{"TERM": "dumb"}, "linux", false},
		"Console":         {"The console of Windows prints the sequences.", nil, "windows", false},
		"WindowsTerminal": {"Windows Terminal shows them.", map[string]string{"WT_SESSION": "1"}, "windows", true},
	} {
		t.Run(name, func(t *testing.T) {
			got := showsColors(func(name string) string { return c.env[name] }, c.system)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestColors(t *testing.T) {
	if got := (Colors{on: true}).Error("a") + (Colors{on: true}).Warning(""); got != "\x1b[1;31ma\x1b[0m" {
		t.Errorf("want a red letter, got %q", got)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if ColorsFor(file).on || ColorsFor(&bytes.Buffer{}).on {
		t.Error("want no colors in a file or in memory")
	}
}
