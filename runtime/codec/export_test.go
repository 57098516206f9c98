package codec

// Structured makes w write keys that a row key schema describes; see [Key.Structured].
func (w *KeyWriter) Structured() { w.structured = true }
