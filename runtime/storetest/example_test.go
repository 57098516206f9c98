package storetest_test

import (
	"context"
	"fmt"
	"log"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/storetest"
)

// The server runs in the process of the test and listens on the loopback interface.
// Generated test packages start it with the tables of their schemas.
func ExampleStart() {
	ctx := context.Background()
	bt, err := storetest.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()
	if err := bt.Admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: "events", Families: map[string]bigtable.GCPolicy{"m": bigtable.NoGcPolicy()}}); err != nil {
		log.Fatal(err)
	}
	write := bigtable.NewMutation()
	write.Set("m", "value", 1000, []byte("42"))
	table := bt.Client.Open("events")
	if err := table.Apply(ctx, "web-1", write); err != nil {
		log.Fatal(err)
	}
	row, err := table.ReadRow(ctx, "web-1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s\n", row.Key(), row["m"][0].Value)
	// Output: web-1 42
}
