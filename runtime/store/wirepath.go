package store

import (
	"context"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// disableVariable is the environment variable that makes readers and writers work
// as if the client had no ClientOptions, if it is 1 or true when they are made.
const disableVariable = "BTGEN_DISABLE_WIRE"

// wireAllowed reports whether requests of a client may be encoded, and its responses
// decoded, by this package: only those of the official client itself. What else stands
// between may look into them.
func wireAllowed(client Client) bool {
	_, official := client.(*bigtable.Client)
	disabled, _ := strconv.ParseBool(os.Getenv(disableVariable))
	return official && !disabled
}

// askAgain is after how long a client is asked again whether it takes encoded entries:
// it may have had no connection, or an interceptor was in the way.
const askAgain = 10 * time.Second

// wirePath knows whether the client of a table takes encoded entries.
type wirePath struct {
	allowed bool
	api     bigtable.TableAPI
	open    atomic.Bool
	closed  atomic.Pointer[time.Time] // when it was last found to be
}

// usable reports whether entries may be sent encoded. It asks the client, if that was
// not done lately.
func (p *wirePath) usable() bool {
	if !p.allowed || p.open.Load() {
		return p.allowed
	}
	if last := p.closed.Load(); last != nil && time.Since(*last) < askAgain {
		return false
	}
	if !wire.Intercepted(context.Background(), p.api) {
		p.close()
		return false
	}
	p.open.Store(true)
	return true
}

// close has entries sent otherwise for a while.
func (p *wirePath) close() {
	now := time.Now()
	p.closed.Store(&now)
	p.open.Store(false)
}
