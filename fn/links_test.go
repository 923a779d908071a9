package main

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/pages"
)

var linked = regexp.MustCompile(`\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)|<a href="([^"]+)"|<img [^>]*src="([^"]+)"`)

// span is code in a line of prose, in which brackets are no link.
var span = regexp.MustCompile("``.*?``|`[^`]*`")

// A link of a page, with its line, counted from 1, and its target as it is written.
type link struct {
	Line   int
	Target string
}

// linksOf returns the links of the prose.
func linksOf(p pages.Page) []link {
	var all []link
	for i, line := range strings.Split(p.Prose, "\n") {
		for _, m := range linked.FindAllStringSubmatch(span.ReplaceAllString(line, ""), -1) {
			all = append(all, link{Line: i + 1, Target: strings.Join(m[1:], "")})
		}
	}
	return all
}

// targetsOf returns the files of the repository that a page links to, relative to its root. A link
// to a folder leads to its README.md.
func targetsOf(p pages.Page) []string {
	var all []string
	for _, l := range linksOf(p) {
		u, err := url.Parse(l.Target)
		if err != nil || u.Scheme != "" || u.Path == "" {
			continue
		}
		target := path.Join(path.Dir(p.Path), u.Path)
		if path.Ext(target) == "" {
			target = path.Join(target, "README.md")
		}
		all = append(all, target)
	}
	return all
}

var (
	heading     = regexp.MustCompile(`^#{1,6} +(.*?)\s*$`)
	anchor      = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	markup      = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	punctuation = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchorsOf returns the anchors that a link can name: those that GitHub gives the headings, and those that the page
// sets.
func anchorsOf(p pages.Page) []string {
	var all []string
	seen := map[string]int{}
	for line := range strings.SplitSeq(p.Prose, "\n") {
		for _, m := range anchor.FindAllStringSubmatch(line, -1) {
			all = append(all, m[1])
		}
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		text := strings.ToLower(markup.ReplaceAllString(m[1], "$1"))
		name := strings.ReplaceAll(punctuation.ReplaceAllString(text, ""), " ", "-")
		if n := seen[name]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", name, n))
		} else {
			all = append(all, name)
		}
		seen[name]++
	}
	return all
}
