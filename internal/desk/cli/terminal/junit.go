package terminal

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"time"
)

// The structure of a JUnit report, as test reports of GitLab, Jenkins and GitHub read it.
type (
	junitReport struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Errors   int           `xml:"errors,attr"`
		Time     junitDuration `xml:"time,attr"`
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
	junitDuration time.Duration
)

// A JUnitCase is one test of a report.
type JUnitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"` // also the name of its suite
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr"`
	Took    time.Duration `xml:"-"`
	Time    junitDuration `xml:"time,attr"` // like Took, in the report
	Failure *JUnitText    `xml:"failure"`
	Error   *JUnitText    `xml:"error"`
	Skipped *struct{}     `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

// A JUnitText is why a test failed.
type JUnitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// MarshalText returns the duration in seconds.
func (d junitDuration) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", time.Duration(d).Seconds()), nil
}

// WriteJUnit writes a report. The suites are in the order of their first tests.
func WriteJUnit(w io.Writer, cases []JUnitCase, took time.Duration) error {
	out := junitReport{Time: junitDuration(took)}
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
		one.Time = junitDuration(one.Took)
		suite.Tests, out.Tests, suite.Cases = suite.Tests+1, out.Tests+1, append(suite.Cases, one)
	}
	b, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, b)
	return err
}
