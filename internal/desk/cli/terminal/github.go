package terminal

import (
	"fmt"
	"path/filepath"
	"strings"
)

// GitHub returns a workflow command, which GitHub Actions shows next to a line of a pull request. See "Workflow
// commands for GitHub Actions".
func GitHub(level, file string, line, column int, title, message string) string {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s file=%s,line=%d,col=%d,title=%s::%s\n", level, property.Replace(filepath.ToSlash(file)),
		line, column, property.Replace(title), text.Replace(message))
}
