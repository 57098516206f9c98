package store

import "testing"

// TestReplaceAmongReads reads before and after each request of a Replace by an event in another row: one of the events is there at all
// times. A read around both requests may pass the row of one before the write and reach the other after the deletion: Bigtable reads several
// rows at several moments.
func TestReplaceAmongReads(t *testing.T) {
	for _, l := range []*mappingOf[sample]{singles(), days(), offsets()} {
		bt, requests := newBigtable(t, l), 0
		found := func() []string {
			return read(t, newReaderOf(bt.Client, l, clockAt(86400*3)), at(0), at(86400*3), ReadOptions{})
		}
		client := through(bt.Client, func(_ asked, send func() error) error {
			before := found()
			err := send()
			if requests++; len(before) == 0 || len(found()) == 0 {
				t.Errorf("%s: found %q before request %d and %q after it", l.Table.ID, before, requests, found())
			}
			return err
		})
		old := sample{Series: "s", Time: at(86400), Value: 1}
		must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(86400*3)).Write(t.Context(), old))
		must(t, newWriterOf(client, []*mappingOf[sample]{l}, writeAt(86400*3)).Replace(t.Context(), old, sample{Series: "s", Time: at(0), Value: 2}))
		same(t, []string{"2"}, found())
		same(t, 3, requests)
	}
}
