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

// disableVariable is the environment variable that disables the effect of ClientOptions
// if it is 1 or true when a reader or writer is created.
const disableVariable = "BTGEN_DISABLE_WIRE"

// wireAllowed reports whether this package may encode the requests and decode the
// responses of a client. It may only for the official client itself, because a wrapper
// may inspect them.
func wireAllowed(client Client) bool {
	disabled, _ := strconv.ParseBool(os.Getenv(disableVariable))
	return isOfficial(client) && !disabled
}

// askAgain is the time after which wirePath probes a client again that did not accept
// encoded entries: it may have had no connection, or an interceptor may have
// interfered.
const askAgain = 10 * time.Second

// wirePath caches whether a table's client accepts encoded entries.
type wirePath struct {
	allowed bool
	api     bigtable.TableAPI
	open    atomic.Bool
	closed  atomic.Pointer[time.Time] // time of the last negative probe
}

// usable reports whether entries may be sent encoded. It probes the client unless a
// recent result is known.
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

// close disables the wire path for some time.
func (p *wirePath) close() {
	now := time.Now()
	p.closed.Store(&now)
	p.open.Store(false)
}
