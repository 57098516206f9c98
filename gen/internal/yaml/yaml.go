// Package yaml wraps gopkg.in/yaml.v3, which is no longer maintained, so that replacing
// the library affects only this package.
package yaml

import (
	"io"

	"gopkg.in/yaml.v3"
)

// Node is a value in a document, with its position and style.
type Node = yaml.Node

// Decoder decodes the documents of a stream.
type Decoder = yaml.Decoder

// Kinds of nodes.
const (
	DocumentNode = yaml.DocumentNode
	SequenceNode = yaml.SequenceNode
	MappingNode  = yaml.MappingNode
	ScalarNode   = yaml.ScalarNode
	AliasNode    = yaml.AliasNode
)

// TaggedStyle is the style of a scalar with a tag. FlowStyle is that of a mapping or
// sequence in brackets.
const (
	TaggedStyle = yaml.TaggedStyle
	FlowStyle   = yaml.FlowStyle
)

// NewDecoder returns a Decoder that reads from r.
func NewDecoder(r io.Reader) *Decoder { return yaml.NewDecoder(r) }

// Unmarshal decodes the first document of text into a node.
func Unmarshal(text []byte, document *Node) error { return yaml.Unmarshal(text, document) }

// Marshal encodes a node.
func Marshal(n *Node) ([]byte, error) { return yaml.Marshal(n) }
