package completions

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// testLine is a command line with everything that has completions.
type testLine struct {
	Serve struct {
		Debug   bool   `help:"Log more." short:"d"`
		Network string `enum:"tcp,udp" default:"tcp" help:"The network."`
	} `cmd:"" default:"withargs" help:"Serve it. The default."`
	Check struct {
		Output string   `enum:"text,json" default:"text" help:"The format."`
		Schema []string `help:"The schemas." predictor:"path" sep:"none" short:"s"`
		At     string   `help:"The time."`
		All    bool     `help:"Everything." short:"a"`
		Paths  []string `arg:"" predictor:"path"`
	} `cmd:"" help:"Check it."`
	Secret struct{} `cmd:"" hidden:""`
}

func TestComplete(t *testing.T) {
	parser := kong.Must(&testLine{})
	for name, c := range map[string]struct {
		reason string
		words  string // separated by blanks; a blank at the end begins another word
		want   []string
	}{
		"Commands": {"Without a word, all commands that are not hidden, each with its first sentence.", "",
			[]string{"serve\tServe it", "check\tCheck it"}},
		"Command":   {"A command that is typed in part.", "ch", []string{"check\tCheck it"}},
		"NoCommand": {"Nothing begins with it.", "x", nil},
		"DefaultFlags": {"Without a command, the flags of the default command.", "--ne",
			[]string{"--network\tThe network"}},
		"Flags": {"The flags of a command.", "check --", []string{"--help\tShow context-sensitive help",
			"--output\tThe format", "--schema\tThe schemas", "--at\tThe time", "--all\tEverything"}},
		"Dash": {"One dash may begin a flag.", "check x -", []string{"--help\tShow context-sensitive help",
			"--output\tThe format", "--schema\tThe schemas", "--at\tThe time", "--all\tEverything"}},
		"Values":       {"The values of a flag.", "check --output ", []string{"text", "json"}},
		"Value":        {"A value that is typed in part.", "check --output j", []string{"json"}},
		"Assigned":     {"zsh and fish complete the whole word.", "check --output=j", []string{"--output=json"}},
		"Separated":    {"bash completes what is after the sign.", "check --output = j", []string{"json"}},
		"SeparatedAll": {"The sign itself is the last word.", "check --output =", []string{"text", "json"}},
		"AfterValue": {"A flag that has its value is complete.", "check --output=json --ou",
			[]string{"--output\tThe format"}},
		"Files":        {"An argument that is a path.", "check ", []string{":files"}},
		"MoreFiles":    {"There may be several.", "check a b c", []string{":files"}},
		"FileOfFlag":   {"A flag that is a path.", "check --schema ", []string{":files"}},
		"FileShort":    {"Its short form.", "check -s ", []string{":files"}},
		"FileAssigned": {"Its value after the sign.", "check --schema=cr", []string{":files"}},
		"Any":          {"A flag with any value.", "check --at ", nil},
		"AfterAny": {"The value is not taken for an argument.", "check --at now --a",
			[]string{"--at\tThe time", "--all\tEverything"}},
		"Boolean":      {"A flag without a value has no next word.", "check --all ", []string{":files"}},
		"OnlyFiles":    {"After two dashes there are no flags.", "check -- --o", []string{":files"}},
		"UnknownFlag":  {"An unknown flag is ignored.", "check --unknown ", []string{":files"}},
		"UnknownValue": {"An unknown flag has no values.", "check --unknown=", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, l := range complete(parser.Model, strings.Split(c.words, " ")) {
				got = append(got, strings.TrimSuffix(l, "\n"))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
	if got := complete(parser.Model, nil); got != nil {
		t.Errorf("want nothing without words, got %q", got)
	}
}
