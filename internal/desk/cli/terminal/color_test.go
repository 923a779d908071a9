package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestShowsColors(t *testing.T) {
	for name, c := range map[string]struct {
		env    map[string]string
		system string
		want   bool
	}{
		"Plain":           {map[string]string{"TERM": "xterm"}, "linux", true},
		"NoColor":         {map[string]string{"NO_COLOR": "0"}, "linux", false},
		"Dumb":            {map[string]string{"TERM": "dumb"}, "linux", false},
		"Console":         {nil, "windows", false}, // it prints the sequences
		"WindowsTerminal": {map[string]string{"WT_SESSION": "1"}, "windows", true},
	} {
		if got := showsColors(func(name string) string { return c.env[name] }, c.system); got != c.want {
			t.Errorf("%s: want %t", name, c.want)
		}
	}
}

func TestColors(t *testing.T) {
	if got := Colors(true).Error("a") + Colors(true).Warning(""); got != "\x1b[1;31ma\x1b[0m" {
		t.Errorf("want a red letter, got %q", got)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if bool(Color("").For(file) || Color("").For(&bytes.Buffer{})) {
		t.Error("want no colors in a file or in memory")
	}
}
