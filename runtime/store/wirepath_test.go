package store

import (
	"testing"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

func TestClientsWithTheOptionsGetPlaceholders(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}).Write(t.Context(), sample{Series: "s", Time: at(1), Value: 1}))
	without := opened(t)(storetest.ConnectPlain(t.Context(), bt.Addr))
	for _, c := range []struct {
		client        *bigtable.Client
		asks, decoded bool
	}{{bt.Client, true, true}, {bt.Client, false, false}, {without, true, false}} {
		read := t.Context()
		if c.asks {
			read = wire.WithSink(read, new(wire.Sink))
		}
		err := c.client.Open("days").ReadRows(read, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
			if _, whole := row["f.1"]; whole == c.decoded {
				t.Errorf("%+v: %v", c, row)
			}
			return true
		})
		must(t, err)
	}
}

// A client that opens its own connections, like those in production, supports the
// options, too.
func TestNewClient(t *testing.T) {
	l := days()
	bt := newBigtable(t, l)
	opts := []option.ClientOption{
		option.WithEndpoint(bt.Addr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
	config := bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}
	client := opened(t)(NewClient(t.Context(), storetest.Project, storetest.Instance, config, opts...))
	must(t, newWriterOf(client, []*mappingOf[sample]{l}).Write(t.Context(), sample{Series: "s", Time: at(1), Value: 1}))
	err := client.Open("days").ReadRows(wire.WithSink(t.Context(), new(wire.Sink)), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		if _, whole := row["f.1"]; whole {
			t.Error(row)
		}
		return true
	})
	must(t, err)
	same(t, []string{"1"}, read(t, newReaderOf(client, l), day0, at(2), ReadOptions{}))
}
