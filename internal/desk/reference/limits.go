package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// numbers are the limits that the page names. It leaves out those that nothing in an input can be chosen by: a message
// says what to do when one of them is reached.
var numbers = map[string]any{
	"InputBytes": limits.InputBytes, "Expressions": limits.Expressions, "ListItems": limits.ListItems,
	"Items": limits.Items, "AllItems": limits.AllItems, "DataItems": limits.DataItems,
	"RewriteRules": limits.RewriteRules, "ManifestBytes": limits.ManifestBytes,
	"RefreshInterval": limits.RefreshInterval, "FirstRetry": limits.FirstRetry, "LastRetry": limits.LastRetry,
	"UnlistedFor": limits.UnlistedFor, "Generations": limits.Generations, "RSABits": limits.RSABits,
	"HtpasswdWork": limits.HtpasswdWork, "ExpressionCharacters": limits.ExpressionCharacters,
	"ComprehensionNesting": limits.ComprehensionNesting, "RegexCharacters": limits.RegexCharacters,
	"EvaluationTime": limits.EvaluationTime, "RequestTime": limits.RequestTime, "YAMLBytes": limits.YAMLBytes,
	"ResultNodes": limits.ResultNodes, "ResultBytes": limits.ResultBytes, "AuthorEntries": limits.AuthorEntries,
	"AuthorCharacters": limits.AuthorCharacters, "AuthorTime": limits.AuthorTime, "AuthorBytes": limits.AuthorBytes,
	"ResponseBytes": limits.ResponseBytes,
}

// limitTexts returns the limits as the page shows them: sizes in KiB and MiB, times in hours, minutes and seconds.
func limitTexts() map[string]string {
	out := map[string]string{}
	for name, value := range numbers {
		n, _ := value.(int)
		switch d, isTime := value.(time.Duration); {
		case isTime:
			out[name] = credential.DurationText(d)
		case strings.HasSuffix(name, "Bytes") && n%(1<<20) == 0:
			out[name] = fmt.Sprintf("%d MiB", n>>20)
		case strings.HasSuffix(name, "Bytes"):
			out[name] = fmt.Sprintf("%d KiB", n>>10)
		default:
			out[name] = count(int64(n))
		}
	}
	return out
}
