package neighbors_test

import (
	"context"

	"github.com/btgen-dev/btgen/generated/alltypes"
	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// setups are generated functions that create tables of example schemas.
var setups = []func(ctx context.Context, admin setup.Admin, client store.Client, opts ...setup.Options) (setup.Plan, error){
	alltypes.SetupSample,
	alltypes.SetupSparse,
	examples.SetupAlarm,
	examples.SetupReading,
	examples.SetupActivity,
	examples.SetupTick,
	examples.SetupMeterReading,
	examples.SetupPoint,
	examples.SetupSample,
	examples.SetupDaily,
	examples.SetupNormal,
	examples.SetupDelay,
	examples.SetupPosition,
	examples.SetupUsageClasses,
	examples.SetupUsageDefault,
	examples.SetupUsageOneSecond,
	weather.SetupBalloonCombined,
	weather.SetupBalloonNewCells,
	weather.SetupBalloonNewColumns,
	weather.SetupBalloonSerialized,
	weather.SetupBalloonUnserialized,
}
