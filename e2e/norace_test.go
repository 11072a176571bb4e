//go:build !race

package e2e

// raceEnabled tells that the tests run with the race detector; the binaries that they
// start are built with it, too.
const raceEnabled = false
