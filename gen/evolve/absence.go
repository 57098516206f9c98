package evolve

import (
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/schema"
)

// required reports whether every event must have a field.
func required(c lock.Column) bool { return !c.Optional && c.Default == nil }

// lacking describes what happens to stored events that lack a required field.
func (c *comparer) lacking() string {
	if c.new.Blob == layout.Protobuf {
		return "stored events lack it and are read with 0 or become undecodable"
	}
	return "stored events lack it and become undecodable"
}

// omits reports whether a layout does not store the zero value of a field, as protobuf does not.
func omits(l *lock.Layout, col *lock.Column) bool {
	return l.Blob == layout.Protobuf && required(*col) && !col.Type.Traits().ProtoZero
}

// implicit reports whether protobuf omits the zero value of a field.
func (c *comparer) implicit(col lock.Column) bool { return omits(c.new, &col) }

// absence reports whether events that lack a field, which was removed, are read with another value
// than before once it is back: protobuf omits their 0, or they had another default.
func (c *comparer) absence(old, new lock.Column) bool {
	return c.implicit(old) || otherDefault(old, new)
}

// otherDefault reports whether events that lack a field, which had a default, are no longer read with it.
func otherDefault(old, new lock.Column) bool {
	was := widened(old, new.Type).Default
	return was != nil && (new.Default == nil || *was != *new.Default)
}

// restoredAs compares the meaning of an absent field, which was removed and is back. It cannot
// become required again, because newer events lack it.
func (c *comparer) restoredAs(old, new lock.Column, at Change) {
	n := len(c.changes)
	c.presence(widened(old, new.Type), new, at)
	if required(old) && len(c.changes) > n {
		c.changes[n].way.text = "if these events may be read without it, accept the change; otherwise, leave the field removed"
	}
}

// presence compares the meaning of an absent field.
func (c *comparer) presence(old, new lock.Column, at Change) {
	same := old.Optional == new.Optional && (old.Default == nil) == (new.Default == nil) && (old.Default == nil || *old.Default == *new.Default)
	at.Old, at.New = presenceText(old), presenceText(new)
	at.way.restore = at.Old
	if required(old) {
		at.way.text = "remove " + diag.Code(at.New)
	}
	switch {
	case same:
	case !required(old) && required(new):
		c.add(at, "required", item(new), c.lacking())
	case required(old) && c.implicit(old):
		c.add(at, "was-required", item(new))
	case required(old) && new.Optional:
		c.add(at, "optional", item(new))
	case required(old):
		c.add(at, "default-of-required", item(new))
	case old.Default != nil:
		c.add(at, "other-default", item(new))
	default:
		c.add(at, "default", item(new))
	}
}

// presenceText describes the meaning of an absent field, in the schema language.
func presenceText(c lock.Column) string {
	switch {
	case c.Default != nil:
		return "default: " + defaultText(c)
	case c.Optional:
		return "optional: true"
	}
	return "required"
}

// defaultText returns the default of a field in the schema language.
func defaultText(c lock.Column) string {
	switch c.Type {
	case schema.String, schema.JSON:
		return quoted(*c.Default)
	case schema.Duration:
		if d, err := time.ParseDuration(*c.Default); err == nil {
			return schema.FormatDuration(d)
		}
	case schema.Bytes:
		if raw, err := hex.DecodeString(*c.Default); err == nil {
			return quoted(base64.StdEncoding.EncodeToString(raw))
		}
	}
	return *c.Default
}
