package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/metrics"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/server"
)

// The corpus has at least this many mistakes. At least this percentage of the outputs that should say something
// answers what is wrong, where, and what to write instead.
const (
	leastMistakes = 220
	leastAnswered = 92
)

var mistakeGroups = []string{"yaml", "fields", "cel-syntax", "cel-names", "cel-types", "missing", "placeholders",
	"scope",
	"secrets-flow", "rewrite", "generators", "environment", "command"}

var (
	gradeLine = regexp.MustCompile(`(?m)^(all|check|render|grpc|command): (-|none|(?:what|where|write)(?: what| where| ` +
		`write)*)$`)
	sourceOf = regexp.MustCompile(`(?m)^source: https://\S+$`)

	// Words about the code of the function, which do not help the reader of a message.
	internals = regexp.MustCompile(
		`panic|goroutine|nil pointer|structpb|protobuf|protojson|v1beta1\.[A-Z]|overload|interface ?\{\}|reflect|cel-go|` +
			`map\[string\]|json: cannot|\bdyn(\s|$)|unmarshal|ERROR: <input>`)

	// A part of each value of a Secret in default.txtar, and the same part in Base64, which depends on its position.
	canary = regexp.MustCompile(`canary-7f3a|Y2FuYXJ5LT|NhbmFyeS03|jYW5hcnktN2`)
)

// A realMistake is an archive of files. Its comment says what a person wanted and where such a mistake was made, and
// grades each output, or all: with which of the words what, where and write it answers what is wrong, where, and what
// to write instead. The grade is - if the output is rightly silent, and none if it should not be.
type realMistake struct {
	path    string
	archive *txtar.Archive
	files   map[string]string
}

func (m realMistake) name() string { return strings.TrimSuffix(filepath.Base(m.path), ".txtar") }

// group is the first part of the name, or empty if there is no such group.
func (m realMistake) group() string {
	for _, g := range mistakeGroups {
		if strings.HasPrefix(m.name(), g+"-") {
			return g
		}
	}
	return ""
}

// outputs are the names of the outputs of a mistake: one if it has a command line of its own.
func (m realMistake) outputs() []string {
	if m.files["args"] != "" {
		return []string{"command"}
	}
	return []string{"check", "render", "grpc"}
}

// readRealMistakes returns the files that every mistake has, and all mistakes.
func readRealMistakes(t *testing.T) (standard map[string]string, all []realMistake) {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("testdata", "mistakes")) // each mistake runs in another folder
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := realMistake{path, a, map[string]string{}}
		for _, f := range a.Files {
			m.files[f.Name] = string(f.Data)
		}
		if m.name() == "default" {
			standard = m.files
			continue
		}
		all = append(all, m)
	}
	return standard, all
}

// run writes the files of the mistake to a folder of its own, and returns its outputs. A file of crd.yaml that is
// "default" is the standard one.
func (m realMistake) run(t *testing.T, standard map[string]string,
	client fnv1.FunctionRunnerServiceClient) map[string]string {
	t.Helper()
	m.writeFiles(t, standard)
	last := &lastCall{client: client, said: "the function is not called\n"}
	if m.files["args"] != "" {
		return map[string]string{"command": fnOutput(last, strings.Fields(m.files["args"])...)}
	}
	out := map[string]string{"check": fnOutput(last, "check", "."), "render": fnOutput(last, "render", ".")}
	out["grpc"] = last.said
	return out
}

// writeFiles writes the files of the mistake to a folder of its own, which becomes the current one.
func (m realMistake) writeFiles(t *testing.T, standard map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	all := maps.Clone(standard)
	delete(all, "crd.yaml") // only the mistakes that need a schema have it
	maps.Copy(all, m.files)
	if all["crd.yaml"] == "default\n" {
		all["crd.yaml"] = standard["crd.yaml"]
	}
	exports := regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(all["exports.yaml"], "      $1")
	all["composition.yaml"] = strings.Replace(all["composition.yaml"], "@exports@\n", exports, 1)
	for name, text := range all {
		if text == "" || name == "exports.yaml" || filepath.Ext(name) != ".yaml" {
			continue
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// everyMistakeHas are lines that say nothing of the mistake, the lines of a file below a message, which show its
// position, and the composite if the function does not change it. They are not kept, so that other words in them
// change no file.
var everyMistakeHas = regexp.MustCompile(`(?m)^(?:not type-checked, because|skipped step "compose"|\d+ errors? in|no ` +
	`errors in| +\d* +\|).*\n` +
	`|^---\napiVersion: example.org/v1\nkind: App\nmetadata:\n  name: shop\n  namespace: team-a\n`)

// shorten removes the lines that every mistake has, and the messages of check from the output of render.
func shorten(outputs map[string]string) {
	for name, text := range outputs {
		outputs[name] = everyMistakeHas.ReplaceAllString(text, "")
	}
	checked := slices.Collect(strings.Lines(outputs["check"]))
	var rendered strings.Builder
	for line := range strings.Lines(outputs["render"]) {
		if strings.HasPrefix(line, "exit code") || !slices.Contains(checked, line) {
			rendered.WriteString(line)
		}
	}
	if outputs["render"] != "" {
		outputs["render"] = rendered.String()
	}
}

// A lastCall passes requests to the server, and keeps the text of its last response.
type lastCall struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	client fnv1.FunctionRunnerServiceClient
	said   string
}

func (l *lastCall) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp, err := l.client.RunFunction(ctx, req)
	if err != nil {
		l.said = err.Error() + "\n"
		return nil, err
	}
	var b strings.Builder
	for _, r := range rsp.GetResults() {
		fmt.Fprintf(&b, "%s: %s\n", strings.TrimPrefix(r.GetSeverity().String(), "SEVERITY_"), r.GetMessage())
	}
	for _, c := range rsp.GetConditions() {
		message := ": " + c.GetMessage() + "\n"
		if !strings.Contains(b.String(), message) { // it is not repeated
			fmt.Fprintf(&b, "%s=%s %s%s", c.GetType(), strings.TrimPrefix(c.GetStatus().String(), "STATUS_CONDITION_"),
				c.GetReason(), message)
		}
	}
	l.said = b.String()
	return rsp, nil
}

// fnOutput runs a command line in the current folder. It returns all that is printed, and the exit code.
func fnOutput(fn fnv1.FunctionRunnerServiceServer, args ...string) string {
	var stdout, stderr bytes.Buffer
	parser := newParser()
	parser.Stdout, parser.Stderr = &stdout, &stderr
	code := func() (code int) {
		parser.Exit = func(c int) { panic(c) }
		defer func() {
			if ended := recover(); ended != nil {
				code = ended.(int) //nolint:forcetypeassert // anything else is a panic of the command
			}
		}()
		k, err := parser.Parse(args)
		if err == nil {
			k.Bind(pipeline.Engine(func(func() time.Time, io.Reader, func(*reconcile.Result)) world.Function {
				return fn.RunFunction
			}))
			err = k.Run()
		}
		return terminal.End(terminal.Usage(err), &stderr)
	}()
	return fmt.Sprintf("%s%sexit code %d\n", stdout.String(), stderr.String(), code)
}

// serveMistakes serves the function as fn serve does.
func serveMistakes(t *testing.T) fnv1.FunctionRunnerServiceClient {
	t.Helper()
	s := &server.Server{
		Function: functiontest.New(t), Log: logging.NewNopLogger(), Credentials: insecure.NewCredentials(),
		MaxRecvMessageSize: 4 << 20, MemoryLimit: server.MemoryLimit(), ConnectionAge: time.Hour,
		Registry: metrics.NewRegistry(),
	}
	served := s.GRPC(health.NewServer())
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = served.Serve(lis) }()
	t.Cleanup(served.Stop)
	conn, err := grpc.NewClient("passthrough:"+lis.Addr().String(), grpc.WithTransportCredentials(
		insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return fnv1.NewFunctionRunnerServiceClient(conn)
}

// write writes the outputs, if the flag asks for it.
func (m realMistake) write(t *testing.T, got map[string]string) {
	t.Helper()
	if !*functiontest.UpdateGolden {
		return
	}
	m.archive.Files = slices.DeleteFunc(m.archive.Files, func(f txtar.File) bool {
		return slices.Contains(m.outputs(), f.Name)
	})
	for _, o := range m.outputs() {
		m.archive.Files = append(m.archive.Files, txtar.File{Name: o, Data: []byte(got[o])})
		m.files[o] = got[o]
	}
	if err := os.WriteFile(m.path, txtar.Format(m.archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

// compare compares the outputs with those of the archive. Read the difference that a changed message makes, and grade
// it.
func (m realMistake) compare(t *testing.T, got map[string]string) {
	t.Helper()
	for _, o := range m.outputs() {
		if diff := cmp.Diff(m.files[o], got[o]); diff != "" {
			t.Errorf("%s: -want, +got, or -update:\n%s", o, diff)
		}
	}
}

// checkWords refuses words about the code, and values of Secrets.
func checkWords(t *testing.T, got map[string]string) {
	t.Helper()
	for o, text := range got {
		if found := internals.FindString(text); found != "" {
			t.Errorf("%s: the output contains %q:\n%s", o, found, text)
		}
		if found := canary.FindString(text); found != "" {
			t.Errorf("%s: the output contains a value of a Secret, %q:\n%s", o, found, text)
		}
	}
}

// gradeCounts count the outputs that should say something, and those that answer each of the questions.
type gradeCounts struct{ mistakes, outputs, what, where, write, all int }

func (c *gradeCounts) add(words string) {
	if words == "-" {
		return
	}
	c.outputs++
	before := c.what + c.where + c.write
	for word, n := range map[string]*int{"what": &c.what, "where": &c.where, "write": &c.write} {
		*n += strings.Count(words, word)
	}
	if c.what+c.where+c.write == before+3 {
		c.all++
	}
}

// TestMistakes checks what people read after real mistakes, which users of YAML, of other functions, of Helm,
// Terraform, External Secrets and of other languages made in public.
func TestMistakes(t *testing.T) {
	standard, all := readRealMistakes(t)
	client := serveMistakes(t)
	bySource, byGroup, total := map[string]string{}, map[string]*gradeCounts{}, &gradeCounts{}
	for _, m := range all {
		source := string(sourceOf.Find(m.archive.Comment))
		if other, twice := bySource[source]; source == "" || twice || m.group() == "" {
			t.Errorf("%s: needs a group, and a source that no other mistake has; %s has the same", m.name(), other)
		}
		bySource[source] = m.name()
		if byGroup[m.group()] == nil {
			byGroup[m.group()] = &gradeCounts{}
		}
		for _, c := range []*gradeCounts{byGroup[m.group()], total} {
			c.mistakes++
			for _, line := range gradeLine.FindAllSubmatch(m.archive.Comment, -1) {
				n := 1
				if string(line[1]) == "all" {
					n = len(m.outputs())
				}
				for range n {
					c.add(string(line[2]))
				}
			}
		}
		t.Run(m.name(), func(t *testing.T) {
			got := m.run(t, standard, client)
			checkWords(t, got)
			shorten(got)
			m.write(t, got)
			m.compare(t, got)
		})
	}
	var table strings.Builder
	byGroup["all"] = total
	for _, group := range append(slices.Clone(mistakeGroups), "all") {
		if c := byGroup[group]; c != nil {
			fmt.Fprintf(&table, "%-13s %4d mistakes, %4d outputs should speak: what %3d, where %3d, write %3d, all three %3d "+
				"(%d %%)\n",
				group, c.mistakes, c.outputs, c.what, c.where, c.write, c.all, 100*c.all/max(1, c.outputs))
		}
	}
	t.Log("\n" + table.String())
	if total.mistakes < leastMistakes || 100*total.all < leastAnswered*total.outputs {
		t.Errorf("want at least %d mistakes, and all three answers in %d %% of the outputs that should speak", leastMistakes,
			leastAnswered)
	}
}
