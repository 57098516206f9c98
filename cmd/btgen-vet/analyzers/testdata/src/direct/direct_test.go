package direct

import (
	"testing"

	"cloud.google.com/go/bigtable"
)

func TestDamaged(t *testing.T) {
	var c *bigtable.Client
	c.Open("positions").Apply(t.Context(), "", nil)
}
