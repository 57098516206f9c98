package codec

import "time"

// Tier is the age from which Bigtable keeps the cells of a table in its infrequent access tier, which is cheaper than
// SSD and slower to read. Cells move by their timestamps alone. The zero Tier specifies nothing.
type Tier time.Duration

// SSDOnly is the Tier of a table whose cells all stay on SSD.
const SSDOnly Tier = -1

// MinTier is the lowest age that Bigtable accepts. Source: https://cloud.google.com/bigtable/docs/tiered-storage
const MinTier = 30 * 24 * time.Hour

// After returns the age from which cells move; false if they do not.
func (t Tier) After() (age time.Duration, moves bool) { return time.Duration(t), t > 0 }
