// Package fleetgate compiles the gateway into Caddy: importing it registers every
// module of this repository, which are the app and its handlers, the stores and the
// providers. It is what `xcaddy build --with github.com/fleetgate/fleetgate` takes in.
package fleetgate

import (
	_ "github.com/fleetgate/fleetgate/modules/accounting"
	_ "github.com/fleetgate/fleetgate/modules/auth"
	_ "github.com/fleetgate/fleetgate/modules/fuel"
	_ "github.com/fleetgate/fleetgate/modules/gateway"
	_ "github.com/fleetgate/fleetgate/modules/health"
	_ "github.com/fleetgate/fleetgate/modules/maintenance"
	_ "github.com/fleetgate/fleetgate/modules/maps"
	_ "github.com/fleetgate/fleetgate/modules/sandbox"
	_ "github.com/fleetgate/fleetgate/modules/store/sqlite"
	_ "github.com/fleetgate/fleetgate/modules/telematics"
	_ "github.com/fleetgate/fleetgate/providers/accounting/quickbooks"
	_ "github.com/fleetgate/fleetgate/providers/fuel/quikq"
	_ "github.com/fleetgate/fleetgate/providers/maintenance/fleetrock"
	_ "github.com/fleetgate/fleetgate/providers/maps/mapbox"
	_ "github.com/fleetgate/fleetgate/providers/telematics/lytx"
)
