// Package yaml is the one place that knows which library reads YAML: gopkg.in/yaml.v3,
// which nobody maintains any more, and which is to be replaced here alone.
package yaml

import (
	"io"

	"gopkg.in/yaml.v3"
)

// Node is a value of a document with its place and its style.
type Node = yaml.Node

// Decoder reads the documents of a stream.
type Decoder = yaml.Decoder

// The kinds of nodes.
const (
	DocumentNode = yaml.DocumentNode
	SequenceNode = yaml.SequenceNode
	MappingNode  = yaml.MappingNode
	ScalarNode   = yaml.ScalarNode
	AliasNode    = yaml.AliasNode
)

// TaggedStyle is the style of a scalar with a tag, FlowStyle that of a mapping or a
// sequence in brackets.
const (
	TaggedStyle = yaml.TaggedStyle
	FlowStyle   = yaml.FlowStyle
)

// NewDecoder returns a Decoder of what r gives.
func NewDecoder(r io.Reader) *Decoder { return yaml.NewDecoder(r) }

// Unmarshal reads the first document of a text into a node.
func Unmarshal(text []byte, document *Node) error { return yaml.Unmarshal(text, document) }

// Marshal returns the text of a node.
func Marshal(n *Node) ([]byte, error) { return yaml.Marshal(n) }
