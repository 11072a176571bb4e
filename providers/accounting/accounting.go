// Package accounting is the contract between the gateway's accounting area and the
// providers of online accounting. A provider is a Caddy module in the namespace
// gateway.accounting whose type implements [Provider].
package accounting

// Provider is an online accounting system. The calls of contract 4.1 join this
// interface together with the operations of the area; until then it names itself.
type Provider interface {
	// DisplayName is the name that callers see in messages.
	DisplayName() string
}
