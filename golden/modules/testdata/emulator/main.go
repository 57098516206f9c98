// Command emulator prints the address of an empty emulator, which ends with the standard input.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/btgen-dev/btgen/runtime/storetest"
)

func main() {
	b, err := storetest.Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.Addr)
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = b.Close()
}
