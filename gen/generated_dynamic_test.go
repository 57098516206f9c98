package gen_test

import (
	"context"
	"path"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/generated/alltypes"
	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/setup"
	runtime "github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// dynamicCases has a test for each schema.
var dynamicCases = map[string]func(t *testing.T, b *storetest.Bigtable, yaml []byte){
	"adopted_clicks":       asGenerated(examples.NewClickWriter, examples.NewClickReader),
	"adopted_readings":     asGenerated(examples.NewMeasurementWriter, examples.NewMeasurementReader),
	"adopted_states":       asGenerated(examples.NewStateWriter, examples.NewStateReader),
	"adopted_views":        asGenerated(examples.NewViewWriter, examples.NewViewReader),
	"all_types":            asGenerated(alltypes.NewSampleWriter, alltypes.NewSampleReader),
	"balloon_combined":     asGenerated(weather.NewBalloonCombinedWriter, weather.NewBalloonCombinedReader),
	"balloon_layouts":      asGenerated(weather.NewBalloonLayoutsWriter, weather.NewBalloonLayoutsReader),
	"balloon_new_cells":    asGenerated(weather.NewBalloonNewCellsWriter, weather.NewBalloonNewCellsReader),
	"balloon_new_columns":  asGenerated(weather.NewBalloonNewColumnsWriter, weather.NewBalloonNewColumnsReader),
	"balloon_serialized":   asGenerated(weather.NewBalloonSerializedWriter, weather.NewBalloonSerializedReader),
	"balloon_unserialized": asGenerated(weather.NewBalloonUnserializedWriter, weather.NewBalloonUnserializedReader),
	"cpu":                  asGenerated(examples.NewUsageWriter, examples.NewUsageReader),
	"device_alarms":        asGenerated(examples.NewAlarmWriter, examples.NewAlarmReader),
	"device_readings":      asGenerated(examples.NewReadingWriter, examples.NewReadingReader),
	"feed_activities":      asGenerated(examples.NewActivityWriter, examples.NewActivityReader),
	"grid_meters":          asGenerated(examples.NewMeterWriter, examples.NewMeterReader),
	"market_ticks":         asGenerated(examples.NewTickWriter, examples.NewTickReader),
	"meter":                asGenerated(examples.NewMeterReadingWriter, examples.NewMeterReadingReader),
	"metrics_points":       asGenerated(examples.NewPointWriter, examples.NewPointReader),
	"metrics_samples":      asGenerated(examples.NewSampleWriter, examples.NewSampleReader),
	"noaa_daily":           asGenerated(examples.NewDailyWriter, examples.NewDailyReader),
	"noaa_normals":         asGenerated(examples.NewNormalWriter, examples.NewNormalReader),
	"seismic_tremors":      asGenerated(examples.NewTremorWriter, examples.NewTremorReader),
	"sparse":               asGenerated(alltypes.NewSparseWriter, alltypes.NewSparseReader),
	"transit_delays":       asGenerated(examples.NewDelayWriter, examples.NewDelayReader),
	"transit_positions":    asGenerated(examples.NewPositionWriter, examples.NewPositionReader),
	"vehicles_now":         asGenerated(examples.NewVehicleWriter, examples.NewVehicleReader),
	"usage_classes":        asGenerated(examples.NewUsageClassesWriter, examples.NewUsageClassesReader),
	"usage_default":        asGenerated(examples.NewUsageDefaultWriter, examples.NewUsageDefaultReader),
	"usage_one_second":     asGenerated(examples.NewUsageOneSecondWriter, examples.NewUsageOneSecondReader),
}

// asGenerated returns a test that compares generated code with package dynamic.
func asGenerated[S, E, C any, W dynamictest.Writer[E], R dynamictest.Reader[S, E, C]](
	newWriter func(runtime.Client, ...runtime.WriterOptions) W, newReader func(runtime.Client, ...runtime.ReaderOptions) R,
) func(t *testing.T, b *storetest.Bigtable, yaml []byte) {
	return func(t *testing.T, b *storetest.Bigtable, yaml []byte) {
		l := dynamictest.Resolve(t, yaml)
		dynamictest.Same(t, b, l, newWriter, newReader)
		dynamictest.Failing(t, b, l, newReader)
	}
}

// The generated code of every example schema and package dynamic store the same
// cells, and each reads what the other stored. Every method of a reader returns the errors of its requests.
func TestDynamic(t *testing.T) {
	inputs := corpus.Inputs(t, "../schemas/*.yaml")
	assert.Same(t, len(dynamicCases), len(inputs))
	for _, in := range testlong.Sample(inputs, 3) {
		name := strings.TrimSuffix(path.Base(in.Name), ".yaml")
		t.Run(name, func(t *testing.T) {
			compare := dynamicCases[name]
			if compare == nil {
				t.Fatal("no case for this schema")
			}
			// A server for each schema, since the setup of tables lists all tables of a server.
			compare(t, storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil }), in.Text)
		})
	}
}

// Generated code, and what interprets the schema, record the same layouts, here of three times in
// two tables: what one has set up, the other one finds complete.
func TestDynamicHistory(t *testing.T) {
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	_, err := examples.SetupMeterReading(t.Context(), b.Admin, b.Client)
	must(t, err)
	tables := dynamic.New(dynamictest.Resolve(t, corpus.Inputs(t, "../schemas/meter.yaml")[0].Text)).Tables()
	plan, err := setup.Setup(t.Context(), b.Admin, b.Client, tables, setup.Options{DryRun: true})
	if err != nil || !plan.Empty() || len(plan.Recorded) != len(tables) || len(tables) == 0 {
		t.Errorf("plan %v of %d tables, recorded %v, error %v", plan, len(tables), plan.Recorded, err)
	}
}
