package gateway

import "github.com/spf13/cobra"

// NewCommand returns the command `gateway` under a root as Caddy makes it.
func NewCommand() *cobra.Command {
	root := &cobra.Command{Use: "fleetgate", SilenceUsage: true}
	cmd := &cobra.Command{Use: "gateway"}
	configureCommand(cmd)
	root.AddCommand(cmd)
	return root
}

// References returns how many configurations hold the store with that identity.
func References(identity string) int {
	n, _ := runtimes.References(identity)
	return n
}

// OpenedStore returns the open store with that identity, to be compared; nil when
// there is none.
func OpenedStore(identity string) any {
	var opened any
	runtimes.Range(func(key, value any) bool {
		if key != identity {
			return true
		}
		if s := value.(*runtime).opened.Load(); s != nil {
			opened = *s
		}
		return false
	})
	return opened
}
