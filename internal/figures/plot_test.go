package main

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var plotted = []series{
	{name: "a < b", color: "#111111", points: []point{{1, 100}, {64, 1000}, {4096, 100000}}},
	{name: "flat", color: "#222222", dash: true, points: []point{{1, 40}, {4096, 50}}},
	{name: "near", color: "#333333", points: []point{{1, 30}, {4096, 51}}},
}

// element of a plot: its attributes, and its text.
type element struct {
	name, text string
	attributes map[string]string
}

// elements fails where the plot is no XML.
func elements(t *testing.T, plot string) []element {
	t.Helper()
	var all []element
	for d := xml.NewDecoder(strings.NewReader(plot)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, plot)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			all = append(all, e)
		case xml.CharData:
			if s := strings.TrimSpace(string(token)); s != "" {
				all[len(all)-1].text = s
			}
		}
	}
}

func TestPlot(t *testing.T) {
	plot := plotOf("above", "below", plotted)
	if again := plotOf("above", "below", plotted); again != plot {
		t.Error("want the same bytes for the same lines")
	}
	var texts, points, colors, dashes, kinds []string
	for _, e := range elements(t, plot) {
		kinds = append(kinds, e.name)
		switch e.name {
		case "text":
			texts = append(texts, e.text)
		case "polyline":
			points, colors, dashes = append(points, e.attributes["points"]), append(colors, e.attributes["stroke"]), append(dashes, e.attributes["stroke-dasharray"])
		}
	}
	got := map[string][]string{"texts": texts, "points": points, "colors": colors, "dashes": dashes, "first": kinds[:3]}
	want := map[string][]string{
		"texts": {
			"above", "below", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms",
			"1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "a < b", "near", "flat",
		},
		// From 10 µs at 360 to 100 ms at 45; 64 KiB is half way from 1 KiB to 4 MiB.
		"points": {"70.0,281.2 360.0,202.5 650.0,45.0", "70.0,312.6 650.0,305.0", "70.0,322.4 650.0,304.3"},
		"colors": {"#111111", "#222222", "#333333"},
		"dashes": {"", "6 4", ""},
		"first":  {"svg", "title", "rect"}, // a ground of its own, below all else
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// Names do not lie on one another, and are in the order of the lines' ends.
func TestPlotLabels(t *testing.T) {
	_, y := scales(plotted)
	all := labels(plotted, y)
	if !slices.IsSortedFunc(all, func(a, b label) int { return int(a.y - b.y) }) {
		t.Errorf("want them from the top, got %v", all)
	}
	for i, l := range all[1:] {
		if l.y-all[i].y < plotLabelGap {
			t.Errorf("want %q below %q, got %v", l.name, all[i].name, all)
		}
	}
	if want := y.at(51); all[1].y != want {
		t.Errorf("want a name with room at its line's end, at %v, got %v", want, all[1])
	}
}
