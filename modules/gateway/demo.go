package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/caddyfiles"
	"github.com/fleetgate/fleetgate/modules/store"
)

const (
	demoAccount = "demo"
	demoBalance = 100 * store.Credit

	// demoLifetime is how long a token lives: each start issues another one, and their
	// values end in shell histories.
	demoLifetime = 30 * 24 * time.Hour

	// demoStart bounds the wait for the first certificate and the first answer.
	demoStart = 30 * time.Second
)

// demoCommand returns `gateway demo`.
func demoCommand() *cobra.Command {
	var d demo
	cmd := &cobra.Command{
		Use:   "demo [--listen :8443] [--data DIR]",
		Short: "Starts the gateway with simulated providers and prints curl lines to try",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return oneLine(d.run(ctx, stop, cmd.OutOrStdout()))
		},
	}
	cmd.Flags().StringVar(&d.listen, "listen", ":8443", "Address of the gateway; port 0 takes a free one")
	cmd.Flags().StringVar(&d.data, "data", filepath.Join("data", "demo"), "Folder of everything that the demo keeps")
	return cmd
}

// demo is a gateway in front of simulated providers, in this process.
type demo struct {
	listen string
	data   string

	site    string // host:port of the gateway
	sandbox string // root of the simulated providers
}

// run serves until ctx, which a signal ends, is done, and then calls uncaught, so that the
// next signal ends the process. It prints to out what a newcomer needs.
func (d *demo) run(ctx context.Context, uncaught func(), out io.Writer) (err error) {
	config, err := d.configure(ctx, out)
	if err != nil {
		return err
	}
	if err := caddy.Load(config, true); err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	defer func() {
		uncaught() // the stop may take longer than a user has patience
		err = errors.Join(err, caddy.Stop())
	}()

	if err := d.awaitReady(ctx); err != nil {
		return err
	}
	now := time.Now()
	token, err := d.issue(ctx, config, now)
	if err != nil {
		return err
	}
	if err := d.print(out, token, now); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// configure writes the shipped Caddyfile into the data folder, so that it can be read
// and changed, and returns what is there adapted.
func (d *demo) configure(ctx context.Context, out io.Writer) ([]byte, error) {
	var err error
	if d.data, err = filepath.Abs(d.data); err != nil {
		return nil, err
	}
	bind, _, err := net.SplitHostPort(d.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %q is not an address such as :8443", d.listen)
	}
	port, err := freePort(ctx, d.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	sandboxPort, err := freePort(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	host := bind
	if ip, err := netip.ParseAddr(bind); bind == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	d.site = net.JoinHostPort(host, port)
	d.sandbox = "http://" + net.JoinHostPort("127.0.0.1", sandboxPort)

	if err := extract(caddyfiles.Demo, d.data, out); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"FLEETGATE_SITE":    d.site,
		"FLEETGATE_BIND":    bind,
		"FLEETGATE_SANDBOX": d.sandbox,
		"FLEETGATE_DATA":    d.data,
		"FLEETGATE_LOG":     "file " + quoteToken(d.logFile()),
	} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	return readConfig(d.caddyfile(), "caddyfile")
}

func (d *demo) caddyfile() string { return filepath.Join(d.data, "sandbox", "Caddyfile") }
func (d *demo) logFile() string   { return filepath.Join(d.data, "fleetgate.log") }

// rootCert is where Caddy's local authority keeps its certificate.
func (d *demo) rootCert() string {
	return filepath.Join(d.data, "caddy", "pki", "authorities", "local", "root.crt")
}

// freePort returns the port of an address on which nobody listens just now; any free one
// if it is 0. Caddy itself would not notice: it shares the address with others that
// listen as it does, such as another demo, and each gets a part of the requests.
func freePort(ctx context.Context, address string) (string, error) {
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return "", fmt.Errorf("%s is already in use", address)
	}
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// shippedData is the data folder that the shipped Caddyfile names.
const shippedData = "./data/sandbox"

// extract copies the files below dir, which takes the place of the data folder that
// they name, so that commands which are given the Caddyfile find the demo's store. It
// leaves alone what is there already, and says so when that is something else: then
// somebody changed it, or an earlier version wrote it.
func extract(files fs.FS, dir string, out io.Writer) error {
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(path))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		text = bytes.ReplaceAll(text, []byte(shippedData), []byte(dir))
		present, err := os.ReadFile(target)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return os.WriteFile(target, text, 0o600)
		case err == nil && !bytes.Equal(present, text):
			_, err = fmt.Fprintf(out, "Using your changed %s; delete it to get the one of this version.\n", target)
		}
		return err
	})
}

// awaitReady waits until the gateway answers over TLS.
func (d *demo) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, demoStart)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := d.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the gateway did not become ready: %w; see %s", err, d.logFile())
		case <-tick.C:
		}
	}
}

func (d *demo) ready(ctx context.Context) error {
	root, err := os.ReadFile(d.rootCert())
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(root)
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+d.site+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// issue creates the funded account unless an earlier run did, and returns a new token.
func (d *demo) issue(ctx context.Context, config []byte, now time.Time) (token string, err error) {
	s, err := openStore(ctx, config, mayCreate)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := createAccount(ctx, s, demoAccount, demoBalance, now); err != nil && !errors.Is(err, store.ErrExists) {
		return "", err
	}
	token, _, err = issueToken(ctx, s, demoAccount, nil, demoLifetime, now)
	return token, err
}

// print says what runs where, and prints one curl line for each operation.
func (d *demo) print(out io.Writer, token string, now time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "The gateway runs at https://%s, its simulated providers at %s.\n\n", d.site, d.sandbox)
	fmt.Fprintf(&b, "  configuration  %s\n  log            %s\n", d.caddyfile(), d.logFile())
	fmt.Fprintf(&b, "  account        %s\n  token          %s\n", demoAccount, token)
	fmt.Fprintf(&b, "  expires        %s, in %d days\n\n", now.Add(demoLifetime).Format(time.DateOnly), demoLifetime/(24*time.Hour))
	write := func(calls []demoCall) {
		for _, c := range calls {
			fmt.Fprintf(&b, "# %s\n%s\n\n", c.title, c.curl("https://"+d.site+"/api", d.rootCert(), token))
		}
	}
	write(demoFleetCalls(now))
	b.WriteString(demoAccountingOrder + "\n\n")
	write(demoAccountingCalls(now))
	b.WriteString("Press Ctrl-C to stop.\n")
	_, err := io.WriteString(out, b.String())
	return err
}
