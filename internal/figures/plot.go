package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// A series is one line of a plot, with its name at its end.
type series struct {
	name, color string
	dash        bool
	points      []point // by x
}

// A point is a size in KiB, and a time in microseconds.
type point struct{ x, y float64 }

// Where the axes are, in a picture of plotWidth by plotHeight. Names of lines are on the right.
const (
	plotWidth, plotHeight   = 800.0, 420.0
	plotLeft, plotRight     = 70.0, 650.0
	plotTop, plotBottom     = 45.0, 360.0
	plotLabel, plotLabelGap = 8.0, 18.0
)

// A scale lays logarithms from one value to another over pixels.
type scale struct{ from, to, first, last float64 }

func (s scale) at(v float64) float64 {
	return s.first + (math.Log(v)-math.Log(s.from))/(math.Log(s.to)-math.Log(s.from))*(s.last-s.first)
}

// plotOf is an SVG of the lines, both axes logarithmic, readable on any background. The same
// lines give the same bytes. All values are above zero.
func plotOf(above, below string, lines []series) string {
	x, y := scales(lines)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img" font-family="system-ui, sans-serif" font-size="14" fill="#1f2937">`+"\n", plotWidth, plotHeight, plotWidth, plotHeight)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(above+", over the "+below))
	fmt.Fprintf(&b, `<rect width="%g" height="%g" rx="6" fill="#ffffff"/>`+"\n", plotWidth, plotHeight)
	text(&b, plotLeft, plotTop-20, "start", above)
	text(&b, (plotLeft+plotRight)/2, plotBottom+48, "middle", below)
	for v := y.from; v < y.to*1.01; v *= 10 {
		grid(&b, plotLeft, y.at(v), plotRight, y.at(v))
		text(&b, plotLeft-8, y.at(v)+5, "end", tick(v))
	}
	for v := x.from; v < x.to*1.01; v *= 4 {
		grid(&b, x.at(v), plotTop, x.at(v), plotBottom)
		text(&b, x.at(v), plotBottom+24, "middle", size(v))
	}
	for _, l := range lines {
		draw(&b, l, x, y)
	}
	for _, l := range labels(lines, y) {
		fmt.Fprintf(&b, `<text x="%g" y="%.1f" font-weight="600" fill="%s">%s</text>`+"\n", plotRight+plotLabel, l.y+5, l.color, html.EscapeString(l.name))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// scales hold all points: whole decades upwards.
func scales(lines []series) (x, y scale) {
	x = scale{math.Inf(1), math.Inf(-1), plotLeft, plotRight}
	y = scale{math.Inf(1), math.Inf(-1), plotBottom, plotTop}
	for _, l := range lines {
		for _, p := range l.points {
			x.from, x.to = min(x.from, p.x), max(x.to, p.x)
			y.from, y.to = min(y.from, p.y), max(y.to, p.y)
		}
	}
	y.from, y.to = math.Pow(10, math.Floor(math.Log10(y.from))), math.Pow(10, math.Ceil(math.Log10(y.to)))
	return x, y
}

func draw(b *strings.Builder, l series, x, y scale) {
	dash := ""
	if l.dash {
		dash = ` stroke-dasharray="6 4"`
	}
	var at []string
	for _, p := range l.points {
		at = append(at, fmt.Sprintf("%.1f,%.1f", x.at(p.x), y.at(p.y)))
	}
	fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="2.5"%s points="%s"/>`+"\n", l.color, dash, strings.Join(at, " "))
	for _, p := range l.points {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x.at(p.x), y.at(p.y), l.color)
	}
}

// A label is a line's name, and its height.
type label struct {
	name, color string
	y           float64
}

// labels are where the lines end, from the top, and never on one another.
func labels(lines []series, y scale) []label {
	var all []label
	for _, l := range lines {
		all = append(all, label{l.name, l.color, y.at(l.points[len(l.points)-1].y)})
	}
	slices.SortStableFunc(all, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	for i := 1; i < len(all); i++ {
		all[i].y = max(all[i].y, all[i-1].y+plotLabelGap)
	}
	return all
}

func grid(b *strings.Builder, x1, y1, x2, y2 float64) {
	fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#e5e7eb"/>`+"\n", x1, y1, x2, y2)
}

func text(b *strings.Builder, x, y float64, anchor, what string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(what))
}

// tick is a decade of microseconds.
func tick(µs float64) string {
	switch {
	case µs < 999:
		return fmt.Sprintf("%.3g µs", µs)
	case µs < 999e3:
		return fmt.Sprintf("%.3g ms", µs/1e3)
	}
	return fmt.Sprintf("%.3g s", µs/1e6)
}
