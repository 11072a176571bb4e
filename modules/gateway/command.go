package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	"github.com/fleetgate/fleetgate/modules/store"
)

// commandTimeout bounds one command that works on the store.
const commandTimeout = time.Minute

// subcommands are the commands under `gateway`, in the order of its help.
var subcommands = []func() *cobra.Command{
	accountCommand,
	tokenCommand,
	demoCommand,
}

func init() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "gateway",
		Usage: "<command>",
		Short: "Manages the accounts and tokens of the gateway",
		Long: `
Manages the accounts and tokens of the gateway. The commands work on the store
that the configuration names, whether or not a server is running on it.`,
		CobraFunc: configureCommand,
	})
}

// configureCommand hangs the subcommands under cmd.
func configureCommand(cmd *cobra.Command) {
	children := make([]*cobra.Command, len(subcommands))
	for i, build := range subcommands {
		children[i] = build()
	}
	group(cmd, children...)
}

// group makes cmd a command that only has subcommands: alone it prints its help,
// and a subcommand that does not exist is an error, not the help and success that
// cobra gives by itself.
func group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	var names []string
	for _, child := range children {
		names = append(names, child.Name())
	}
	cmd.AddCommand(children...)
	// A flag of the subcommand that was meant must not be what is complained about.
	cmd.FParseErrWhitelist.UnknownFlags = true
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("unknown command %q for %q: use %s", args[0], cmd.CommandPath(), strings.Join(names, ", "))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return cmd.Help()
	}
	return cmd
}

// arguments returns a check that a command has one argument for each name.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s needs %s", cmd.CommandPath(), names[len(args)])
		case len(args) > len(names):
			return fmt.Errorf("%s does not take %q", cmd.CommandPath(), args[len(names)])
		default:
			return nil
		}
	}
}

// addStoreFlags adds the flags of every command that works on the store.
func addStoreFlags(cmd *cobra.Command) *cobra.Command {
	flags := cmd.PersistentFlags()
	flags.StringP("config", "c", "Caddyfile", "Configuration file that names the store")
	flags.StringP("adapter", "a", "", "Name of the config adapter, if the file's name does not tell")
	flags.Bool("json", false, "Print JSON")
	return cmd
}

// withStore opens the configured store, which must exist, runs a command on it, and
// closes it.
func withStore(cmd *cobra.Command, run func(ctx context.Context, s store.Store) error) error {
	return runOnStore(cmd, mustExist, run)
}

// withNewStore is withStore for the command that may be the first one: a store that
// does not exist is made.
func withNewStore(cmd *cobra.Command, run func(ctx context.Context, s store.Store) error) error {
	return runOnStore(cmd, mayCreate, run)
}

func runOnStore(cmd *cobra.Command, mode openMode, run func(ctx context.Context, s store.Store) error) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), commandTimeout)
	defer cancel()
	s, err := openConfigured(ctx, cmd, mode)
	if err != nil {
		return oneLine(err)
	}
	return oneLine(errors.Join(run(ctx, s), s.Close()))
}

// oneLine returns err on one line, for which scripts can look.
func oneLine(err error) error {
	if err == nil || !strings.Contains(err.Error(), "\n") {
		return err
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// openMode is what becomes of a store that does not exist.
type openMode int

const (
	mustExist openMode = iota // an error, so that a wrong path is noticed
	mayCreate
)

// openConfigured opens the store that the configuration file of a command names.
func openConfigured(ctx context.Context, cmd *cobra.Command, mode openMode) (store.Store, error) {
	file, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	adapter, err := cmd.Flags().GetString("adapter")
	if err != nil {
		return nil, err
	}
	config, err := readConfig(file, adapter)
	if err != nil {
		return nil, err
	}
	opened, err := openStore(ctx, config, mode)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return opened, nil
}

// openStore opens the store that a configuration names, in JSON.
func openStore(ctx context.Context, config []byte, mode openMode) (store.Store, error) {
	var apps struct {
		Apps struct {
			Gateway json.RawMessage `json:"gateway"`
		} `json:"apps"`
	}
	if err := json.Unmarshal(config, &apps); err != nil {
		return nil, fmt.Errorf("the configuration is not valid JSON (%w); name its adapter with --adapter", err)
	}
	if apps.Apps.Gateway == nil {
		return nil, errors.New("the gateway is not configured: the global option 'gateway' (in JSON, the app \"gateway\") is missing")
	}
	app := new(App)
	if err := caddy.StrictUnmarshalJSON(apps.Apps.Gateway, app); err != nil {
		return nil, fmt.Errorf("app gateway: %w", err)
	}

	caddyCtx, cancel := caddy.NewContext(caddy.Context{Context: ctx})
	cleanUp := sync.OnceFunc(cancel)
	s, err := app.openBackend(caddyCtx, mode)
	if err != nil {
		cleanUp()
		return nil, err
	}
	return &configuredStore{Store: s, cleanUp: cleanUp}, nil
}

// openBackend loads the configured store's module and opens the store with it.
func (a *App) openBackend(ctx caddy.Context, mode openMode) (store.Store, error) {
	backend, err := a.loadBackend(ctx)
	if err != nil {
		return nil, err
	}
	if mode == mustExist {
		exists, err := backend.Exists(ctx)
		if err != nil {
			return nil, err
		}
		if !exists {
			return nil, fmt.Errorf("the store %s does not exist: check --config, or make the store with `gateway account create`", backend.Identity())
		}
	}
	return backend.Open(ctx)
}

// configuredStore is an open store together with the module that opened it, which
// Caddy cleans up once the store is closed.
type configuredStore struct {
	store.Store

	cleanUp func()
}

// Close implements [store.Store].
func (s *configuredStore) Close() error {
	defer s.cleanUp()
	return s.Store.Close()
}

// readConfig reads a configuration file and returns it as JSON. As with Caddy's
// own commands, a file whose name begins with "Caddyfile" or ends in ".caddyfile"
// is a Caddyfile, and any other is JSON unless an adapter is named.
func readConfig(file, adapter string) ([]byte, error) {
	config, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w (name the file with --config)", err)
	}
	base := strings.ToLower(filepath.Base(file))
	if adapter == "" && filepath.Ext(base) != ".json" && (strings.HasPrefix(base, "caddyfile") || filepath.Ext(base) == ".caddyfile") {
		adapter = "caddyfile"
	}
	if adapter == "" {
		return config, nil
	}
	module := caddyconfig.GetAdapter(adapter)
	if module == nil {
		return nil, fmt.Errorf("there is no config adapter named %q", adapter)
	}
	// The warnings are for the server's log; they do not touch the store.
	config, _, err = module.Adapt(config, map[string]any{"filename": file})
	if err != nil {
		return nil, fmt.Errorf("adapting the configuration: %w", err)
	}
	return config, nil
}

// show prints value as JSON when --json is given, and as a table otherwise: one
// line of headings, then the rows.
func show(cmd *cobra.Command, value any, headings []string, rows ...[]string) error {
	if asJSON, err := cmd.Flags().GetBool("json"); err != nil || asJSON {
		return errors.Join(err, showJSON(cmd.OutOrStdout(), value))
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, cells := range append([][]string{headings}, rows...) {
		if _, err := fmt.Fprintln(table, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return table.Flush()
}

// showJSON prints value on one line.
func showJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// jsonTime is a time in JSON: RFC 3339, UTC, whole seconds; null for "never".
type jsonTime time.Time

// MarshalJSON implements [json.Marshaler].
func (t jsonTime) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(cell(time.Time(t)))
}

// cell returns a time for a table; a hyphen for "never".
func cell(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
