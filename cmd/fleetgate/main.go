// Command fleetgate is Caddy with its standard modules and the gateway's.
package main

import (
	_ "time/tzdata" // the provider's business days need zones on machines without a zone database

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/fleetgate/fleetgate"
)

func main() {
	caddycmd.Main()
}
