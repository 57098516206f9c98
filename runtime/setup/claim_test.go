package setup_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// gated is a process whose requests wait for their turn. It can be killed before or after any.
type gated struct {
	admin  *bigtable.AdminClient
	client *bigtable.Client
	ready  chan bool // true: it is at a request; false: it has ended
	turn   chan turn
}

type turn int

const (
	goOn turn = iota
	killBefore
	killAfter
)

var errKilled = status.Error(codes.Canceled, "killed")

// newGated returns a process with connections of its own.
func newGated(t *testing.T, b *storetest.Bigtable) *gated {
	t.Helper()
	g := &gated{ready: make(chan bool), turn: make(chan turn)}
	unary := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		get, ok := req.(*adminpb.GetTableRequest)
		if strings.Contains(method, "Ping") || strings.Contains(method, "ListTables") || ok && strings.HasSuffix(get.Name, setup.HistoryTable) { // in any order
			return next(ctx, method, req, reply, conn, opts...)
		}
		g.ready <- true
		how := <-g.turn
		if how == killBefore {
			return errKilled
		}
		err := next(ctx, method, req, reply, conn, opts...)
		if how == killAfter {
			return errKilled
		}
		return err
	}
	stream := func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		g.ready <- true
		if how := <-g.turn; how != goOn {
			return nil, errKilled
		}
		return next(ctx, desc, conn, method, opts...)
	}
	g.admin, g.client = clientsOf(t, b, grpc.WithChainUnaryInterceptor(unary), grpc.WithChainStreamInterceptor(stream))
	return g
}

// build is a build that sets up a table.
type build struct {
	layout string
	allow  []string
}

// race lets processes of builds set up a table. next chooses who of those that are at a request
// goes on, and how. It returns the errors by build, which are errKilled for a killed process.
func race(t *testing.T, processes []*gated, builds []build, table string, next func(waiting []int) (int, turn)) []error {
	t.Helper()
	errs := make([]error, len(builds))
	waiting := make([]int, 0, len(builds))
	await := func(i int) {
		if <-processes[i].ready {
			waiting = append(waiting, i)
			slices.Sort(waiting)
		}
	}
	for i, b := range builds {
		own, p := placed(table, b.layout), processes[i]
		go func() {
			_, errs[i] = setup.Setup(t.Context(), p.admin, p.client, []store.Table{own}, setup.Options{Allow: b.allow})
			p.ready <- false
		}()
		await(i)
	}
	killed := map[int]bool{}
	for len(waiting) > 0 {
		i, how := next(waiting)
		waiting = slices.DeleteFunc(waiting, func(w int) bool { return w == i })
		if killed[i] {
			how = killBefore
		}
		killed[i] = killed[i] || how != goOn
		processes[i].turn <- how
		await(i)
	}
	for i := range errs {
		if killed[i] && errs[i] == nil {
			errs[i] = errKilled
		}
	}
	return errs
}

// afterRace checks what is true after a race: at most one layout has won, the others were refused
// by name, and whoever comes next goes on, or is told how. killed is whether a setup was before.
func afterRace(t *testing.T, b *storetest.Bigtable, builds []build, table string, errs []error, killed bool) {
	t.Helper()
	winners := map[string]bool{}
	for i, err := range errs {
		killed = killed || errors.Is(err, errKilled) || status.Code(err) == codes.Canceled
		var history *setup.HistoryError
		switch named := refused(err); {
		case err == nil:
			winners[builds[i].layout] = true
		case len(named) == 1 && strings.HasSuffix(strings.Split(named[0], ":")[0], "_layout"):
		case errors.As(err, &history) && strings.Contains(err.Error(), "deploy only one of the two builds, and run setup again"), status.Code(err) == codes.Canceled:
		default:
			t.Errorf("build %d: %v", i, err)
		}
	}
	if len(winners) > 1 || len(winners) == 0 && !killed {
		t.Errorf("%d layouts won: %v\n%s", len(winners), errs, strings.Join(wholeHistory(t, b), "\n"))
	}
	for layout := range winners {
		if families := live(t, b.Admin, table); len(families) != len(laidOut(layout).Families) {
			t.Errorf("the loser has changed the table: %v", families)
		}
	}
	won := ""
	for _, next := range builds {
		own := placed(table, next.layout)
		_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{own})
		names := refused(err)
		switch {
		case err == nil && won == "" && (len(winners) == 0 || winners[next.layout]), err == nil && won == next.layout:
			won = next.layout
		case len(names) == 1 && names[0] == "unfinished_layout:"+table+"/m" && len(winners) == 0 && won == "":
			settle(t, b, own, setup.Options{Allow: names})
			won = next.layout
		case len(names) == 1 && (names[0] == "other_layout:"+table+"/m" || names[0] == "older_layout:"+table+"/m") && next.layout != won:
		default:
			t.Errorf("setup again, after %v: %v", won, err)
		}
	}
}

// Two builds with different layouts set up a new table in all orders of their requests.
func TestClaimInAllOrders(t *testing.T) {
	b := start(t)
	set(t, b, daily) // for the table of the history
	builds := []build{{layout: daily}, {layout: hourly + "; family n: events"}}
	processes := []*gated{newGated(t, b), newGated(t, b)}
	var choices, widths []int // of the current order: which of how many that wait
	n, long := 0, testlong.Enabled()
	for more := true; more; n++ {
		table, at := fmt.Sprintf("t%d", n), 0
		errs := race(t, processes, builds, table, func(waiting []int) (int, turn) {
			if at == len(choices) {
				choices, widths = append(choices, 0), append(widths, 0)
				if !long {
					choices[at] = rand.IntN(len(waiting))
				}
			}
			widths[at] = len(waiting)
			at++
			return waiting[choices[at-1]], goOn
		})
		afterRace(t, b, builds, table, errs, false)
		if t.Failed() {
			t.Fatalf("order %v", choices)
		}
		if long {
			more = nextOrder(&choices, widths[:at])
			continue
		}
		choices, more = choices[:0], n < 30
	}
	t.Logf("%d orders", n)
}

// A setup that was stopped keeps out other layouts, unless they are allowed by name.
func TestUnfinishedLayout(t *testing.T) {
	b := start(t)
	set(t, b, daily) // for the table of the history
	before(t, b, "t0", daily, 2, newGated(t, b))
	_, err := setup.Setup(t.Context(), b.Admin, b.Client, []store.Table{placed("t0", hourly)})
	assert.Same(t, []string{"unfinished_layout:t0/m"}, refused(err))
}

// nextOrder sets the next choices, and reports whether there are any.
func nextOrder(choices *[]int, widths []int) bool {
	for i := len(widths) - 1; i >= 0; i-- { // the order has as many choices
		if (*choices)[i]+1 < widths[i] {
			*choices = append((*choices)[:i], (*choices)[i]+1)
			return true
		}
	}
	return false
}

// Three builds, of which up to two are killed before or after any request, set up tables that are
// new, were deleted, or were left unfinished.
func TestClaimsWithKills(t *testing.T) {
	b := start(t)
	set(t, b, daily)
	processes := []*gated{newGated(t, b), newGated(t, b), newGated(t, b)}
	for n := range testlong.Pick(50, 1000) {
		random := rand.New(rand.NewPCG(27, uint64(n)))
		table := fmt.Sprintf("t%d", n)
		all := []string{daily, hourly, weekly}
		builds := make([]build, 3)
		for i := range builds {
			builds[i].layout = all[random.IntN(len(all))]
			if random.IntN(4) == 0 {
				builds[i].allow = []string{"unfinished_layout:" + table + "/m"}
			}
		}
		how := random.IntN(3)
		before(t, b, table, all[random.IntN(len(all))], how, processes[0])
		kills := random.IntN(3)
		errs := race(t, processes, builds, table, func(waiting []int) (int, turn) {
			who := waiting[random.IntN(len(waiting))]
			if kills > 0 && random.IntN(10) == 0 {
				kills--
				return who, []turn{killBefore, killAfter}[random.IntN(2)]
			}
			return who, goOn
		})
		afterRace(t, b, builds, table, errs, how == 2)
		if t.Failed() {
			t.Fatalf("round %d: %q, errors %q", n, builds, errs)
		}
	}
}

// before leaves a table as it may be when setups begin: 0 new, 1 deleted, 2 unfinished.
func before(t *testing.T, b *storetest.Bigtable, table, layout string, how int, p *gated) {
	t.Helper()
	switch how {
	case 1:
		settle(t, b, placed(table, layout))
		must(t, b.Admin.DeleteTable(t.Context(), table))
	case 2:
		requests := 0
		race(t, []*gated{p}, []build{{layout: layout}}, table, func([]int) (int, turn) {
			if requests++; requests > 3 { // the history, the table, and the step
				return 0, killBefore
			}
			return 0, goOn
		})
	}
}
