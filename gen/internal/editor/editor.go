// Package editor validates schemas like an editor: it reads YAML 1.2 as JSON and checks
// it against the JSON Schema of the language. It is only for tests.
package editor

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/btgen-dev/btgen/gen/internal/yaml"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Checker returns an error if an editor would report one in the file, or if the file is
// not valid YAML.
type Checker func(text []byte) error

var language = sync.OnceValues(func() (Checker, error) { return Compile(schema.JSONSchema()) })

// Check checks a schema file like an editor.
func Check(text []byte) error {
	check, err := language()
	if err != nil {
		return err
	}
	return check(text)
}

// Compile compiles a JSON Schema and validates it.
func Compile(text []byte) (Checker, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("btgen.schema.json", document); err != nil {
		return nil, err
	}
	s, err := c.Compile("btgen.schema.json")
	if err != nil {
		return nil, err
	}
	return func(text []byte) error {
		var document yaml.Node
		if err := yaml.Unmarshal(text, &document); err != nil {
			return err
		}
		return s.Validate(value(&document))
	}, nil
}

// value converts a node to its JSON value.
func value(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			object[n.Content[i].Value] = value(n.Content[i+1])
		}
		return object
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, value(item))
		}
		return list
	case yaml.DocumentNode:
		return value(n.Content[0])
	case 0:
		return nil // an empty file
	case yaml.AliasNode:
		return value(n.Alias)
	}
	if n.Style != 0 {
		return n.Value
	}
	return plain(n.Value)
}

// Plain scalars in the core schema of YAML 1.2, which editors use.
var (
	null    = regexp.MustCompile(`^(null|Null|NULL|~|)$`)
	boolean = regexp.MustCompile(`^(true|True|TRUE|false|False|FALSE)$`)
	integer = regexp.MustCompile(`^[-+]?[0-9]+$|^0o[0-7]+$|^0x[0-9a-fA-F]+$`)
	number  = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?$`)
)

// plain returns the value of a plain scalar.
func plain(text string) any {
	switch {
	case null.MatchString(text):
		return nil
	case boolean.MatchString(text):
		return strings.EqualFold(text, "true")
	case integer.MatchString(text):
		if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0o") {
			n, _ := strconv.ParseUint(text, 0, 64)
			return json.Number(strconv.FormatUint(n, 10))
		}
		return json.Number(decimal(text))
	case number.MatchString(text):
		return json.Number(text)
	}
	return text
}

// decimal converts an integer to the syntax of JSON.
func decimal(text string) string {
	text = strings.TrimPrefix(text, "+")
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign = "-"
	}
	digits := strings.TrimLeft(strings.TrimPrefix(text, "-"), "0")
	if digits == "" {
		digits = "0"
	}
	return sign + digits
}
