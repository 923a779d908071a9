package files

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// SettingsFile is the name of the file with settings. It applies to the files in its folder and in all folders below
// it, except where a folder has a file of its own.
const SettingsFile = ".function-export.yaml"

const schemasField = "schemas"

// Settings are those of each folder.
type Settings struct {
	system   *System
	byFolder map[string]*folderSettings // by absolute path; nil for none
	schemas  []string                   // of all files
	keys     map[string][]string        // by kind
	wrong    []Diagnostic
}

// folderSettings are the settings in one file.
type folderSettings struct{ levels map[string]rules.Level }

// readSettings reads the settings of files.
func (s *System) readSettings(names []string) *Settings {
	out := &Settings{system: s, byFolder: map[string]*folderSettings{}, keys: map[string][]string{}}
	for _, name := range names {
		out.of(s.folderOf(name))
	}
	return out
}

// folderOf returns the folder of a file. Standard input is in the current one.
func (s *System) folderOf(name string) string {
	if name == Stdin || strings.HasPrefix(name, "<") {
		name = "stdin"
	}
	return filepath.Dir(s.Absolute(name))
}

// of returns the settings of a folder, or of the nearest folder above it, up to the root of the repository.
func (s *Settings) of(folder string) *folderSettings {
	if found, ok := s.byFolder[folder]; ok {
		return found
	}
	s.byFolder[folder] = nil
	switch _, err := s.system.IsFolder(filepath.Join(folder, SettingsFile)); {
	case err == nil:
		s.byFolder[folder] = s.read(folder)
	case filepath.Dir(folder) != folder:
		if _, err := s.system.IsFolder(filepath.Join(folder, ".git")); err != nil {
			s.byFolder[folder] = s.of(filepath.Dir(folder))
		}
	}
	return s.byFolder[folder]
}

// Level returns the level of each rule in a file.
func (s *Settings) Level(file string) func(rules.Rule) rules.Level {
	var levels map[string]rules.Level
	if of := s.byFolder[s.system.folderOf(file)]; of != nil {
		levels = of.levels
	}
	return func(r rules.Rule) rules.Level {
		if l, ok := levels[r.Name]; ok {
			return l
		}
		return r.Level
	}
}

// A settingsReader reads one file.
type settingsReader struct {
	*Settings
	*folderSettings

	folder string
	file   File
	object Object
}

// read reads the settings in a folder. The name of the file in diagnostics is relative to the current folder.
func (s *Settings) read(folder string) *folderSettings {
	name := filepath.Join(folder, SettingsFile)
	if relative, err := filepath.Rel(s.system.Folder, name); err == nil {
		name = relative
	}
	r := &settingsReader{Settings: s, folderSettings: &folderSettings{levels: map[string]rules.Level{}}, folder: folder}
	r.file = s.system.Read(name, AnyText)
	r.file.holdsSteps = true
	s.wrong = append(s.wrong, r.file.Unread()...)
	for _, o := range r.file.Objects() {
		r.object = o
		fields, ok := o.Value.(map[string]any)
		if !ok {
			r.report(nil, "must be a map with the fields schemas, connectionKeys and rules")
			continue
		}
		for _, field := range plan.SortedKeys(fields) {
			r.field(field, fields[field])
		}
	}
	slices.SortStableFunc(s.wrong, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File),
			a.Line-b.Line)
	})
	return r.folderSettings
}

func (r *settingsReader) report(path []any, format string, args ...any) {
	place, _ := r.object.Doc.Find(path...)
	var name string
	for _, step := range path {
		name = strings.TrimPrefix(fmt.Sprintf("%s.%v", name, step), ".")
	}
	r.wrong = append(r.wrong, Diagnostic{
		File: r.file.Name, Range: place.Key, Field: name, Rule: diagnostic.Input,
		Message: fmt.Sprintf(format, args...),
	})
}

func (r *settingsReader) field(field string, value any) {
	known := []string{"connectionKeys", "rules", schemasField}
	m, isMap := value.(map[string]any)
	switch {
	case !slices.Contains(known, field):
		r.report([]any{field}, "is an unknown field%s", suggest.ThereAre(field, known, ""))
	case field == schemasField:
		r.readSchemas(value)
	case !isMap:
		r.report([]any{field}, "must be a map")
	case field == "connectionKeys":
		for _, kind := range plan.SortedKeys(m) {
			r.connectionKeys(kind, m[kind])
		}
	default:
		for _, name := range plan.SortedKeys(m) {
			r.rule(name, m[name])
		}
	}
}

// readSchemas reads the paths of schemas, which are relative to the folder.
func (r *settingsReader) readSchemas(value any) {
	list, ok := value.([]any)
	for i, item := range list {
		text, isText := item.(string)
		ok = ok && isText
		path := text
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.folder, path)
		}
		_, err := r.system.IsFolder(path)
		if cached := r.system.cachedPackage(text); err != nil && cached != "" {
			path = cached
			if _, err = r.system.IsFolder(path); err != nil {
				r.report([]any{schemasField, i}, "the package is not in the cache: run crossplane validate with it "+
					"first")
				continue
			}
		}
		if err != nil && !strings.ContainsAny(path, "*?[{") {
			r.report([]any{schemasField, i}, "cannot be read: %v", WithoutPath(err))
			continue
		}
		r.schemas = append(r.schemas, path)
	}
	if !ok {
		r.report([]any{schemasField}, "must be a list of files, folders, and packages")
	}
}

// cachedPackage returns the folder in which crossplane caches the schemas of a package, or nothing if the text is no
// package with a version.
func (s *System) cachedPackage(text string) string {
	registry, rest, _ := strings.Cut(text, "/")
	if s.Home == "" || !strings.Contains(registry, ".") || strings.HasPrefix(registry, ".") ||
		!strings.Contains(rest, ":") {
		return ""
	}
	return filepath.Join(s.Home, ".crossplane", "cache", strings.ReplaceAll(text, ":", "@"))
}

func (r *settingsReader) connectionKeys(kind string, value any) {
	list, ok := value.([]any)
	keys := make([]string, 0, len(list))
	for _, item := range list {
		key, isText := item.(string)
		ok = ok && isText
		keys = append(keys, key)
	}
	if _, isKind := parseKind(kind); !isKind || !ok || len(keys) == 0 {
		r.report([]any{"connectionKeys", kind}, "write it as group/version/Kind with a list of keys, for example "+
			"rds.aws.upbound.io/v1beta1/Instance: [username, password]")
		return
	}
	r.keys[kind] = keys
}

// rule reads the level of a rule. A rule that is off needs a reason.
func (r *settingsReader) rule(name string, value any) {
	at, form := []any{"rules", name}, "write for example {level: off, reason: it is tested elsewhere}, error or warning"
	level, reason := value, any(nil)
	if m, ok := value.(map[string]any); ok {
		level, reason = m["level"], m["reason"]
		for _, field := range plan.SortedKeys(m) {
			if field != "level" && field != "reason" {
				r.report(append(at, field), "is an unknown field: there are level, reason")
			}
		}
	}
	if level == false { // off is a boolean in YAML 1.1
		level = string(rules.Off)
	}
	text, _ := level.(string)
	switch {
	case rules.Named(name) == nil:
		r.report(at, "there is no rule %s%s", name, suggest.ThereAre(name, rules.Names(), ""))
	case !slices.Contains([]rules.Level{rules.Error, rules.Warning, rules.Off}, rules.Level(text)):
		r.report(at, "has no such level: %s", form)
	case text == string(rules.Off) && (reason == nil || reason == ""):
		r.report(at, "is off without a reason: write {level: off, reason: ...}")
	default:
		r.levels[name] = rules.Level(text)
	}
}
