package wire

// Made is a row of values that a caller makes. The zero Made is empty.
type Made struct{ rows Rows }

// Reset makes an empty row with the given key. Values that were kept before are invalid, and
// the memory of a large row is not kept.
func (m *Made) Reset(key string) Row {
	memory := m.rows.memory[:0]
	if cap(memory) > maxKept {
		memory = nil
	}
	m.rows = Rows{keys: key, rows: append(m.rows.rows[:0], row{key: uint32(len(key))}), memory: memory}
	return m.rows.At(0)
}

// Keep adds a value to the row.
func (m *Made) Keep(value []byte) Text { return m.rows.keep(value) }
