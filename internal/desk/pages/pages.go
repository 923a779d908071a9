// Package pages reads the documentation, so that tests can run what it shows.
//
// A page is a Markdown file. Its code blocks say what they are in their info string:
//
//	shell         commands, one on each line, run from the root of the repository
//	text output   what the one command of the shell block before it prints to stdout
//	yaml output   the same, colored as YAML
//	yaml          complete documents
package pages

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A Page is one Markdown file.
type Page struct {
	// Path of the file, relative to the root of the repository, with slashes.
	Path string
	// Text of the file.
	Text string
	// Prose is the text without its code blocks. Each line of a code block is an empty
	// line of it, so that line numbers are the same.
	Prose string
	// Blocks of code, in the order of the page.
	Blocks []Block
}

// A Block is a fenced block of code.
type Block struct {
	// Line of the opening fence, counted from 1.
	Line int
	// Lang is the language that the info string names.
	Lang string
	// Output says that the block is what the block before it prints.
	Output bool
	// Text between the fences, without the fences' indentation.
	Text string
}

// A Command is one command line of a shell block.
type Command struct {
	// Line in the page, counted from 1.
	Line int
	// Text of the command, as a shell reads it. A command that goes on over several lines is one line.
	Text string
	// Program is the first word that is not an assignment.
	Program string
	// ExitCode that a comment at the end announces: "# exit code 1".
	ExitCode int
}

// Read returns all pages below a folder, sorted by path. Folders named testdata or node_modules, and
// folders whose name begins with a dot other than .github, are left out.
func Read(root string) ([]Page, error) {
	var all []Page
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		isHidden := name == "testdata" || name == "node_modules" || name[0] == '.' && name != ".github"
		if d.IsDir() && path != root && isHidden {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".md" {
			return nil
		}
		b, err := os.ReadFile(path) //nolint:gosec // A path of this repository.
		if err != nil {
			return fmt.Errorf("cannot read page: %w", err)
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return fmt.Errorf("cannot find path of page: %w", err)
		}
		page, err := parse(filepath.ToSlash(relative), string(b))
		all = append(all, page)
		return err
	})
	return all, err
}

var fence = regexp.MustCompile("^( *)(```+)(.*)$")

// parse finds the blocks. Fences are backticks, as many at the end as at the beginning.
func parse(path, text string) (Page, error) {
	p := Page{Path: path, Text: text}
	var indent, end string // of the block that is open
	prose := strings.Split(text, "\n")
	for i, line := range prose {
		opening := fence.FindStringSubmatch(line)
		switch last := len(p.Blocks) - 1; {
		case end == "" && opening == nil:
			continue
		case end == "":
			indent, end = opening[1], opening[2]
			lang, rest, _ := strings.Cut(opening[3], " ")
			p.Blocks = append(p.Blocks, Block{Line: i + 1, Lang: lang, Output: strings.Contains(rest, "output")})
		case strings.TrimSpace(line) == end:
			end = ""
		default:
			p.Blocks[last].Text += strings.TrimPrefix(line, indent) + "\n"
		}
		prose[i] = ""
	}
	if end != "" {
		return p, fmt.Errorf("%s:%d: the code block has no end", path, p.Blocks[len(p.Blocks)-1].Line)
	}
	p.Prose = strings.Join(prose, "\n")
	return p, nil
}

var (
	exitCode   = regexp.MustCompile(`\s+# exit code (\d+)$`)
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

// Commands of a shell block. Empty lines and comments are left out.
func Commands(b Block) []Command {
	var all []Command
	text := ""
	for i, line := range strings.Split(b.Text, "\n") {
		if text == "" && (strings.TrimSpace(line) == "" || strings.HasPrefix(strings.TrimSpace(line), "#")) {
			continue
		}
		if rest, more := strings.CutSuffix(line, `\`); more {
			text += rest
			continue
		}
		c := Command{Line: b.Line + i + 1, Text: strings.TrimSpace(text + line)}
		if m := exitCode.FindStringSubmatch(c.Text); m != nil {
			c.ExitCode, _ = strconv.Atoi(m[1]) // digits only
			c.Text = strings.TrimSuffix(c.Text, m[0])
		}
		for word := range strings.FieldsSeq(c.Text) {
			if !assignment.MatchString(word) {
				c.Program = word
				break
			}
		}
		all = append(all, c)
		text = ""
	}
	return all
}

// Matches reports whether a program's output is what an output block shows. A line of the
// block that is three dots, with any indentation, stands for any number of lines.
func Matches(shown, got string) bool {
	var pattern strings.Builder
	pattern.WriteString("^")
	for line := range strings.Lines(shown) {
		if strings.TrimSpace(line) == "..." {
			pattern.WriteString(`(?:.*\n)*`)
		} else {
			pattern.WriteString(regexp.QuoteMeta(line))
		}
	}
	return regexp.MustCompile(pattern.String() + "$").MatchString(got)
}
