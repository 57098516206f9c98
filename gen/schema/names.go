package schema

import (
	"fmt"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// maxName is the longest name, in characters.
const maxName = 64

var (
	plainName    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	hyphenName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	exportedName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`)
	packageName  = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	ruleID       = regexp.MustCompile(`^[A-Z][0-9]{2}$`)
	notInName    = regexp.MustCompile(`[^A-Za-z0-9]+`)
)

// nameForm returns the form of a name with a syntax.
func nameForm(what string, syntax *regexp.Regexp, rule string, repair func(string) string) form[string] {
	return parsed(what, rule, func(s string) (string, error) {
		switch {
		case len(s) > maxName:
			return "", &problem{fmt.Sprintf("%s is longer than %d characters", quote(s), maxName), "shorten it"}
		case !syntax.MatchString(s):
			hint := rule
			if better := repair(s); isASCII(s) && syntax.MatchString(better) {
				hint += ", such as `" + better + "`"
			}
			return "", &problem{fmt.Sprintf("%s cannot be %s", quote(s), what), hint}
		}
		return s, nil
	}).like(func(s *shape) { s.syntax, s.most = []string{syntax.String()}, maxName })
}

// isASCII reports whether a repair of s would lose no letters.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// snake returns s with an underscore for all that cannot be in a name.
func snake(s string) string {
	return strings.Trim(notInName.ReplaceAllString(s, "_"), "_")
}

// exported returns s as Go would write an exported name.
func exported(s string) string {
	var b strings.Builder
	for _, part := range notInName.Split(s, -1) {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// exportedForm is a name that Go exports.
func exportedForm(what string) form[string] {
	return nameForm(what, exportedName, "write letters, digits and underscores, beginning with a capital letter", exported)
}

// identifierForm is the name of a series value or a field. Some names are
// taken: reserved has the reason for each.
func identifierForm(what string, reserved map[string]string) form[string] {
	f := nameForm(what, plainName, "write letters, digits and underscores, beginning with a letter", snake)
	f.shape.not = []shape{{kind: shapeWord, words: slices.Sorted(maps.Keys(reserved))}}
	return form[string]{f.shape, func(w *walker, n *node) (string, bool) {
		if why, ok := reserved[n.text]; ok {
			w.errorf(n.pos, "%s cannot be %s: %s", quote(n.text), what, why).Hint = "name it differently"
			return "", false
		}
		return f.read(w, n)
	}}
}

const timeIsReserved = "time is the event's own time"

var (
	seriesNameForm = identifierForm("the name of a series value", map[string]string{
		"time": timeIsReserved, "bucket": "in a key, bucket is the bucket",
	})
	fieldNameForm = identifierForm("the name of a field", map[string]string{"time": timeIsReserved})
	enumNameForm  = nameForm("the name of an enum value", hyphenName, "write letters, digits, hyphens and underscores, beginning with a letter", snake)
	classNameForm = nameForm("the name of a ttl class", hyphenName, "write letters, digits, hyphens and underscores, beginning with a letter", snake)
	ruleForm      = nameForm("the id of a rule", ruleID, "write a capital letter and two digits", strings.ToUpper)
)

var versionForm = parsed("a version", "write `btgen: "+Version+"`", func(s string) (string, error) {
	if s != Version {
		return "", &problem{"unknown version " + quote(s) + " of the language", "write `btgen: " + Version + "`"}
	}
	return s, nil
}).like(func(s *shape) { s.kind, s.words = shapeWord, []string{Version} })

// Package names that are taken: by Go, or by the packages beside the generated
// ones.
var reservedPackages = []string{"main", "init", "internal", "vendor", "testdata", "codec", "store", "storetest"}

// windowsNames are the names that Windows keeps for devices: the go command refuses
// import paths with them on every system.
var windowsNames = []string{
	"aux", "con", "nul", "prn",
	"com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
}

// keywords returns the keywords of Go.
func keywords() []string {
	var words []string
	for t := token.BREAK; t <= token.VAR; t++ {
		words = append(words, t.String())
	}
	return words
}

var packageForm = func() form[string] {
	f := nameForm("a package name", packageName, "write lower-case letters, digits and underscores, beginning with a letter",
		func(s string) string { return snake(strings.ToLower(s)) })
	f.shape.not = []shape{
		{kind: shapeWord, words: slices.Concat(keywords(), reservedPackages, windowsNames)},
		{kind: shapeText, syntax: []string{`_test$`}},
	}
	return form[string]{f.shape, func(w *walker, n *node) (string, bool) {
		s, ok := f.read(w, n)
		switch {
		case !ok:
			return "", false
		case token.IsKeyword(s):
			w.errorf(n.pos, "%s cannot be a package name: it is a keyword of Go", quote(s)).Hint = "name it differently"
		case slices.Contains(reservedPackages, s):
			w.errorf(n.pos, "%s cannot be a package name: it is reserved", quote(s)).Hint = "name it differently"
		case slices.Contains(windowsNames, s):
			w.errorf(n.pos, "%s cannot be a package name: Windows has no folder of that name, and the go command refuses it everywhere", quote(s)).Hint = "name it differently"
		case strings.HasSuffix(s, "_test"):
			w.errorf(n.pos, "%s cannot be a package name: Go takes _test for tests", quote(s)).Hint = "name it differently"
		default:
			return s, true
		}
		return "", false
	}}
}()

var precisionForm = parsed("a duration", "write `precision: 1m`", func(s string) (time.Duration, error) {
	d, err := ParseDuration(s)
	switch {
	case err != nil:
		return 0, err
	case d == 0:
		return 0, &problem{"a precision cannot be zero", "write `1ns` or more"}
	case d > day || day%d != 0:
		return 0, &problem{quote(s) + " does not divide a day evenly", "write a duration such as 1ms, 1s, 30s, 1m, 15m, 1h or 1d"}
	}
	return d, nil
}).like(func(s *shape) { s.syntax, s.most = []string{durationSyntax, notZero}, maxQuantity })

// ageForm is how old data may become. Whether Bigtable can keep to it is a rule
// (L10), and no matter of the language.
var ageForm = parsed("a duration", "write an age, as in 30d", func(s string) (time.Duration, error) {
	d, err := ParseDuration(s)
	if err == nil && d == 0 {
		return 0, &problem{"an age of zero keeps nothing", "write `1s` or more"}
	}
	return d, err
}).like(func(s *shape) { s.syntax, s.most = []string{durationSyntax, notZero}, maxQuantity })

// ttlAgeForm is ageForm for data of one age, which could also be kept for ever.
var ttlAgeForm = form[time.Duration]{ageForm.shape, func(w *walker, n *node) (time.Duration, bool) {
	if n.kind == scalar && slices.Contains([]string{"forever", "never", "infinite", "unlimited"}, strings.ToLower(n.text)) {
		w.errorf(n.pos, "%s is not a duration", quote(n.text)).Hint = "write `ttl: {keep: forever}`"
		return 0, false
	}
	return ageForm.read(w, n)
}}

// originForm is a date, or a time, that buckets are counted from.
var originForm = parsed("a date", "write `origin: 2021-03-01`", func(s string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	t, err := parseTime(s)
	if err != nil {
		return t, &problem{quote(s) + " is not a date", "write a date or a time, as in 2021-03-01 or 2021-03-01T12:00:00Z"}
	}
	return t, nil
}).like(func(s *shape) {
	s.kind, s.either = shapeEither, []shape{{kind: shapeText, what: "a date", format: "date"}, {kind: shapeText, what: "a time", format: "date-time"}}
})

// parseTime reads RFC 3339 as it is written there: time.Parse takes more.
func parseTime(s string) (time.Time, error) {
	var t time.Time
	if err := t.UnmarshalText([]byte(s)); err != nil {
		return time.Time{}, &problem{quote(s) + " is not a time", "write it as in 2021-03-05T12:00:00Z"}
	}
	return t.UTC(), nil
}
