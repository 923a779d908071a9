package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/engine/advice/fields"
	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// SettingsFile is the name of the file with settings. It applies to the files in its folder and in all folders below
// it, except where a folder has a file of its own.
const SettingsFile = ".function-export.yaml"

// fileSettings are the settings in one file.
type fileSettings struct {
	Schemas        []string            `json:"schemas"`
	ConnectionKeys map[string][]string `json:"connectionKeys"`
	Rules          map[string]struct {
		Level  rules.Level `json:"level"`
		Reason string      `json:"reason"`
	} `json:"rules"`
}

// settingsSchema is the schema of fileSettings.
func settingsSchema() *definition.Schema {
	text := &definition.Schema{Type: "string"}
	list := &definition.Schema{Type: "array", Items: text}
	level := &definition.Schema{Type: "string", Enum: []any{string(rules.Error), string(rules.Warning), string(rules.Off)}}
	rule := &definition.Schema{Type: "object", Names: []string{"level", "reason"}, Required: []string{"level"},
		Properties: map[string]*definition.Schema{"level": level, "reason": text}}
	return &definition.Schema{Type: "object", Names: []string{"schemas", "connectionKeys", "rules"},
		Properties: map[string]*definition.Schema{"schemas": list,
			"connectionKeys": {Type: "object", AdditionalProperties: list},
			"rules":          {Type: "object", AdditionalProperties: rule}}}
}

// decodeSettings decodes the settings in one file, or returns diagnostics with the messages of inputs.
func decodeSettings(v any) (*fileSettings, diagnostic.List) {
	all, _ := v.(map[string]any)
	levels, _ := all["rules"].(map[string]any)
	for name, v := range levels {
		rule, isMap := v.(map[string]any)
		if !isMap {
			rule = map[string]any{"level": v}
		}
		if rule["level"] == false { // off is a boolean in YAML 1.1
			rule["level"] = string(rules.Off)
		}
		levels[name] = rule
	}
	in, err := structpb.NewStruct(all)
	if err != nil || all == nil {
		return nil, diagnostic.List{{Rule: diagnostic.Input, Message: "must be a map with the fields schemas, " +
			"connectionKeys and rules"}}
	}
	wrong := strict.Fields(settingsSchema(), nil, structpb.NewStructValue(in), fields.Adviser{})
	out := &fileSettings{}
	text, err := in.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, out) // what has another type is left out
	}
	if err != nil && len(wrong) == 0 {
		wrong = diagnostic.List{{Rule: diagnostic.Input, Message: "cannot be read"}}
	}
	return out, wrong
}

// Settings are those of each folder.
type Settings struct {
	system   *System
	byFolder map[string]map[string]rules.Level // the levels of rules, by absolute path; nil for none
	schemas  []string                          // of all files
	keys     map[string][]string               // by kind
	wrong    []Diagnostic
}

// readSettings reads the settings of files.
func (s *System) readSettings(names []string) *Settings {
	out := &Settings{system: s, byFolder: map[string]map[string]rules.Level{}, keys: map[string][]string{}}
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

// of returns the levels of rules in a folder, or in the nearest folder above it, up to the root of the repository.
func (s *Settings) of(folder string) map[string]rules.Level {
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
	levels := s.byFolder[s.system.folderOf(file)]
	return func(r rules.Rule) rules.Level {
		if l, ok := levels[r.Name]; ok {
			return l
		}
		return r.Level
	}
}

// read reads the settings in a folder. The name of the file in diagnostics is relative to the current folder.
func (s *Settings) read(folder string) map[string]rules.Level {
	name := filepath.Join(folder, SettingsFile)
	if relative, err := filepath.Rel(s.system.Folder, name); err == nil {
		name = relative
	}
	f, levels := s.system.Read(name, AnyText), map[string]rules.Level{}
	s.wrong = append(s.wrong, f.Broken()...)
	for _, o := range f.Objects() {
		in, wrong := decodeSettings(o.Value)
		if in != nil {
			wrong = append(wrong, withoutPlacesOf(wrong, s.add(folder, in, levels))...)
		}
		s.wrong = append(s.wrong, StepAt(o).AllInFile(wrong)...)
	}
	return levels
}

// add adds the settings in a file of a folder. A rule that is off needs a reason.
func (s *Settings) add(folder string, in *fileSettings, levels map[string]rules.Level) (wrong diagnostic.List) {
	report := func(at *field.Path, format string, args ...any) {
		wrong = append(wrong, &diagnostic.Diagnostic{Path: at.String(), Rule: diagnostic.Input,
			Message: fmt.Sprintf(format, args...)})
	}
	for i, text := range in.Schemas {
		path, err := s.schemaPath(folder, text)
		if err != nil {
			report(field.NewPath("schemas").Index(i), "%v", err)
			continue
		}
		s.schemas = append(s.schemas, path)
	}
	for _, kind := range plan.SortedKeys(in.ConnectionKeys) {
		if _, isKind := parseKind(kind); !isKind || len(in.ConnectionKeys[kind]) == 0 {
			report(field.NewPath("connectionKeys").Key(kind), "write it as group/version/Kind with a list of keys, for "+
				"example rds.aws.upbound.io/v1beta1/Instance: [username, password]")
			continue
		}
		s.keys[kind] = in.ConnectionKeys[kind]
	}
	for _, name := range plan.SortedKeys(in.Rules) {
		switch at, rule := field.NewPath("rules").Key(name), in.Rules[name]; {
		case rules.Named(name) == nil:
			report(at, "there is no rule %s%s", name, suggest.ThereAre(name, rules.Names(), ""))
		case rule.Level == rules.Off && rule.Reason == "":
			report(at, "is off without a reason: write {level: off, reason: ...}")
		case rule.Level == rules.Error || rule.Level == rules.Warning || rule.Level == rules.Off:
			levels[name] = rule.Level
		case rule.Level != "": // which has been said unless the file also has unknown fields
			report(at.Child("level"), "must be %s, %s or %s", rules.Error, rules.Warning, rules.Off)
		}
	}
	return wrong
}

// schemaPath returns the path of schemas, which is relative to the folder, or that of a package in the cache.
func (s *Settings) schemaPath(folder, text string) (string, error) {
	path := text
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	_, err := s.system.IsFolder(path)
	if err == nil || strings.ContainsAny(path, "*?[{") {
		return path, nil
	}
	if cached := s.system.cachedPackage(text); cached != "" {
		if _, err = s.system.IsFolder(cached); err != nil {
			return "", errors.New("the package is not in the cache: run crossplane validate with it first")
		}
		return cached, nil
	}
	return "", fmt.Errorf("cannot be read: %w", WithoutPath(err))
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
