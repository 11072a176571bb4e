// Package caddyfiles embeds the shipped configuration that the demo writes out, so
// that what a newcomer runs is a file to read and to start from.
package caddyfiles

import "embed"

// Demo holds sandbox/Caddyfile and the snippets that it imports.
//
//go:embed sandbox/Caddyfile snippets/*.caddyfile
var Demo embed.FS
