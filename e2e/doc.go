// Package e2e tests the gateway as its users meet it: the real binary, started as a
// process of its own and spoken to over TLS, with the simulated providers or with
// upstreams of the tests' own behind it. It has benchmarks of the CPU time that a
// request costs, too.
//
// A test that needs a program which is not there is skipped. With
// FLEETGATE_REQUIRE_ALL=1 in the environment it fails instead.
package e2e
