package neighbors_test

import (
	"context"

	"github.com/btgen-dev/btgen/generated/alltypes"
	"github.com/btgen-dev/btgen/generated/device"
	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/meter"
	"github.com/btgen-dev/btgen/generated/noaa"
	"github.com/btgen-dev/btgen/generated/usage"
	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// setups are generated functions that create tables of example schemas.
var setups = []func(ctx context.Context, admin setup.Admin, client store.Client, opts ...setup.Options) (setup.Plan, error){
	alltypes.SetupSample,
	alltypes.SetupSparse,
	device.SetupAlarm,
	device.SetupReading,
	examples.SetupActivity,
	examples.SetupTick,
	meter.SetupReading,
	examples.SetupPoint,
	examples.SetupSample,
	noaa.SetupDaily,
	noaa.SetupNormal,
	examples.SetupDelay,
	examples.SetupPosition,
	usage.SetupUsageClasses,
	usage.SetupUsageDefault,
	usage.SetupUsageOneSecond,
	weather.SetupBalloonCombined,
	weather.SetupBalloonNewCells,
	weather.SetupBalloonNewColumns,
	weather.SetupBalloonSerialized,
	weather.SetupBalloonUnserialized,
}
