// Package maps is the contract between the gateway's maps area and the providers of
// maps. A provider is a Caddy module in the namespace gateway.maps whose type
// implements [Provider].
package maps

// Provider is a source of maps. The calls of contract 4.2 join this interface
// together with the operations of the area; until then it names itself.
type Provider interface {
	// DisplayName is the name that callers see in messages.
	DisplayName() string
}
