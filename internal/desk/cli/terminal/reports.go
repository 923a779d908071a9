package terminal

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The structure of a JUnit report, as test reports of GitLab, Jenkins and GitHub read it.
type (
	junitReport struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Errors   int           `xml:"errors,attr"`
		Time     string        `xml:"time,attr"`
		Suites   []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []JUnitCase `xml:"testcase"`
	}
)

// A JUnitCase is one test of a report.
type JUnitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"` // also the name of its suite
	File    string     `xml:"file,attr"`
	Line    int        `xml:"line,attr"`
	Time    string     `xml:"time,attr"` // see Seconds
	Failure *JUnitText `xml:"failure"`
	Error   *JUnitText `xml:"error"`
	Skipped *struct{}  `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

// A JUnitText is why a test failed.
type JUnitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Seconds returns a duration as JUnit writes it.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// WriteJUnit writes a report. The suites are in the order of their first tests.
func WriteJUnit(w io.Writer, cases []JUnitCase, took time.Duration) error {
	out := junitReport{Time: Seconds(took)}
	for _, one := range cases {
		i := slices.IndexFunc(out.Suites, func(s *junitSuite) bool { return s.Name == one.Class })
		if i < 0 {
			i, out.Suites = len(out.Suites), append(out.Suites, &junitSuite{Name: one.Class})
		}
		suite := out.Suites[i]
		switch {
		case one.Skipped != nil:
			suite.Skipped++
		case one.Error != nil:
			suite.Errors, out.Errors = suite.Errors+1, out.Errors+1
		case one.Failure != nil:
			suite.Failures, out.Failures = suite.Failures+1, out.Failures+1
		}
		suite.Tests, out.Tests, suite.Cases = suite.Tests+1, out.Tests+1, append(suite.Cases, one)
	}
	b, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, b)
	return err
}

// GitHub returns a workflow command, which GitHub Actions shows next to a line of a pull request. See "Workflow
// commands for GitHub Actions".
func GitHub(level, file string, line, column int, title, message string) string {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s file=%s,line=%d,col=%d,title=%s::%s\n", level, property.Replace(filepath.ToSlash(file)),
		line, column, property.Replace(title), text.Replace(message))
}
