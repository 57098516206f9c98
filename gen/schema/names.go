package schema

import (
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

// nameForm returns the form of a name that matches syntax. rule is the hint for others, to
// which the result of repair is added if that matches.
func nameForm(what string, syntax *regexp.Regexp, rule string, repair func(string) string) form[string] {
	return parsed(what, rule, func(s string) (string, error) {
		switch {
		case len(s) > maxName:
			return "", newProblem("long-name", quote(s), maxName)
		case !syntax.MatchString(s):
			hint := rule
			exotic := strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) // a repair would lose letters
			if better := repair(s); !exotic && syntax.MatchString(better) {
				hint += ", such as `" + better + "`"
			}
			return "", newProblem("bad-name", quote(s), what, hint)
		}
		return s, nil
	}).like(func(s *shape) { s.syntax, s.json.MaxLength = []string{syntax.String()}, maxName })
}

// snake returns s with each run of other characters than letters and digits replaced by an
// underscore.
func snake(s string) string {
	return strings.Trim(notInName.ReplaceAllString(s, "_"), "_")
}

// exported returns s in the style of an exported Go name.
func exported(s string) string {
	var b strings.Builder
	for _, part := range notInName.Split(s, -1) {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// exportedForm returns the form of an exported Go name.
func exportedForm(what string) form[string] {
	return nameForm(what, exportedName, "use letters, digits and underscores, beginning with a capital letter", exported)
}

// identifierForm returns the form of the name of a series value or a field. reserved maps
// invalid names to the reason.
func identifierForm(what string, reserved map[string]string) form[string] {
	f := nameForm(what, plainName, "use letters, digits and underscores, beginning with a letter", snake)
	not := oneOfWords(slices.Sorted(maps.Keys(reserved))...)
	f.shape.json.Not = &not
	return f.unless(func(w *walker, n *node) bool {
		why, ok := reserved[n.text]
		if ok {
			w.reject(n.pos, "reserved-name", quote(n.text), what, why)
		}
		return ok
	})
}

const timeIsReserved = "every event has a time"

var (
	seriesNameForm = identifierForm("the name of a series value", map[string]string{
		"time": timeIsReserved, "bucket": "in a key, bucket means the time bucket",
	})
	fieldNameForm = identifierForm("the name of a field", map[string]string{"time": timeIsReserved})
	enumNameForm  = nameForm("the name of an enum value", hyphenName, "use letters, digits, hyphens and underscores, beginning with a letter", snake)
	classNameForm = nameForm("the name of a ttl class", hyphenName, "use letters, digits, hyphens and underscores, beginning with a letter", snake)
	ruleForm      = nameForm("a rule ID", ruleID, "write a capital letter and two digits", strings.ToUpper)
)

var versionForm = parsed("a version", "write `btgen: "+Version+"`", func(s string) (string, error) {
	if s != Version {
		return "", newProblem("unknown-version", quote(s), Version)
	}
	return s, nil
}).like(func(s *shape) { s.kind, s.json = shapeScalar, oneOfWords(Version) })

// IsReservedPackage reports whether Go or the vendored runtime uses a package name.
func IsReservedPackage(name string) bool { return slices.Contains(reservedPackages, name) }

// reservedPackages are the package names that Go or the vendored runtime uses.
var reservedPackages = []string{"main", "init", "internal", "runtime", "vendor", "testdata", "codec", "setup", "store", "storetest", "window"}

// windowsNames are the names that Windows reserves for devices. The go command rejects
// import paths that contain them on every system.
var windowsNames = []string{
	"aux", "con", "nul", "prn",
	"com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
}

// keywords returns all Go keywords.
func keywords() []string {
	var words []string
	for t := token.BREAK; t <= token.VAR; t++ {
		words = append(words, t.String())
	}
	return words
}

var packageForm = func() form[string] {
	f := nameForm("a package name", packageName, "use lowercase letters, digits and underscores, beginning with a letter",
		func(s string) string { return snake(strings.ToLower(s)) })
	reserved := oneOfWords(slices.Concat(keywords(), reservedPackages, windowsNames)...)
	f.shape.json.Not = &jsonSchema{AnyOf: []*jsonSchema{&reserved, {Type: "string", Pattern: `_test$`}}}
	return f.unless(func(w *walker, n *node) bool {
		name := ""
		switch s := n.text; {
		case token.IsKeyword(s):
			name = "package-keyword"
		case IsReservedPackage(s):
			name = "package-reserved"
		case slices.Contains(windowsNames, s):
			name = "package-of-windows"
		case strings.HasSuffix(s, "_test") && packageName.MatchString(s):
			name = "package-of-tests"
		default:
			return false
		}
		w.reject(n.pos, name, quote(n.text))
		return true
	})
}()

var precisionForm = parsed("a duration", "write `precision: 1m`", func(s string) (time.Duration, error) {
	d, err := ParseDuration(s)
	switch {
	case err != nil:
		return 0, err
	case d == 0:
		return 0, newProblem("zero-precision")
	case d > day || day%d != 0:
		return 0, newProblem("uneven-precision", quote(s))
	}
	return d, nil
}).like(func(s *shape) { s.syntax, s.json.MaxLength = []string{durationSyntax, notZero}, maxQuantity })

// ageForm is the form of a maximum age. Rule L10 checks Bigtable's limits.
var ageForm = positiveForm("an age, as in 30d", "an age of zero keeps nothing")

// lengthForm is the form of a length of time.
var lengthForm = positiveForm("a duration, as in 1h", "the duration is zero")

// positiveForm is the form of a duration that is not zero, given an example and what is wrong with zero.
func positiveForm(example, zero string) form[time.Duration] {
	return parsed("a duration", "write "+example, func(s string) (time.Duration, error) {
		d, err := ParseDuration(s)
		if err == nil && d == 0 {
			return 0, newProblem("zero-age", zero)
		}
		return d, err
	}).like(func(s *shape) { s.syntax, s.json.MaxLength = []string{durationSyntax, notZero}, maxQuantity })
}

// ttlAgeForm is ageForm with a hint for data that is kept forever.
var ttlAgeForm = ageForm.unless(func(w *walker, n *node) bool {
	endless := n.kind == scalar && meansForever(n.text)
	if endless {
		w.reject(n.pos, "endless-age", quote(n.text))
	}
	return endless
})

// originForm is the form of the date or time that buckets are counted from.
var originForm = instantForm("origin: 2021-03-01")

// instantForm is the form of a date or a time.
func instantForm(example string) form[time.Time] {
	f := parsed("a date", "write `"+example+"`", parseInstant).like(func(s *shape) {
		s.kind, s.either = shapeEither, []shape{{what: "a date", json: jsonSchema{Format: "date"}}, {what: "a time", json: jsonSchema{Format: "date-time"}}}
	})
	f.write = func(t time.Time) string {
		if t.Equal(t.Truncate(day)) {
			return t.Format(time.DateOnly)
		}
		return valueText(t)
	}
	return f
}

// parseInstant parses a date, which is its midnight, or a time.
func parseInstant(s string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	t, err := parseTime(s)
	if err != nil {
		return t, newProblem("bad-date", quote(s))
	}
	return t, nil
}

// parseTime parses RFC 3339 strictly; time.Parse accepts more. The result is in UTC.
func parseTime(s string) (time.Time, error) {
	var t time.Time
	if err := t.UnmarshalText([]byte(s)); err != nil {
		return time.Time{}, newProblem("bad-time", quote(s))
	}
	return t.UTC(), nil
}
