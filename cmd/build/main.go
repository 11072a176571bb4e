// Command build makes a gateway with modules of one's own compiled in, as described
// by a JSON file in the form of xcaddy's Builder, which xcaddy itself reads from
// nowhere. Relative paths in the file's replacements are relative to the file.
//
//	go run ./cmd/build [-config xcaddy.json] [-output bin/fleetgate-xcaddy]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/caddyserver/xcaddy"
)

func main() {
	config := flag.String("config", "xcaddy.json", "file that describes the build")
	output := flag.String("output", filepath.Join("bin", "fleetgate-xcaddy"), "binary to write")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := build(ctx, *config, *output); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func build(ctx context.Context, config, output string) error {
	builder, err := load(config)
	if err != nil {
		return err
	}
	return builder.Build(ctx, output)
}

// load reads the description of a build. A key that xcaddy does not know is an error,
// and so is anything behind the object.
func load(config string) (*xcaddy.Builder, error) {
	raw, err := os.ReadFile(config)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	builder := new(xcaddy.Builder)
	if err := dec.Decode(builder); err != nil {
		return nil, fmt.Errorf("%s: %w", config, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: something follows the object", config)
	}

	// xcaddy builds in a folder of its own, where a relative path leads elsewhere.
	for i, r := range builder.Replacements {
		path := string(r.New)
		if path != "." && !strings.HasPrefix(path, "./") && !strings.HasPrefix(path, "../") {
			continue
		}
		abs, err := filepath.Abs(filepath.Join(filepath.Dir(config), path))
		if err != nil {
			return nil, err
		}
		builder.Replacements[i].New = xcaddy.ReplacementPath(abs)
	}
	return builder, nil
}
