// Command fleetgate is Caddy with its standard modules and the gateway's.
package main

import (
	_ "time/tzdata" // as in builds by xcaddy: zones on machines without a zone database

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/fleetgate/fleetgate"
)

func main() {
	caddy.CustomBinaryName = "fleetgate"
	caddy.CustomLongDescription = `Fleetgate is Caddy with modules that put fleet-business providers behind one
bearer token and one JSON envelope. All of Caddy's commands work; 'fleetgate
gateway' has the gateway's own.`
	caddycmd.Main()
}
