// Package transform turns the providers' JSON into the contract's JSON. Its functions
// are pure, work on bytes and share one scanner, which checks the text in the same
// pass that reads it.
//
// Nothing is decoded: numbers, strings, unknown members and the order of members
// leave as they came, byte for byte. What a function returns for valid input is
// valid JSON; what it gets is never trusted to be.
//
// Functions named Append, and those that take dst, append to it and return the
// extended slice. When they fail they return dst as it was. dst must not overlap the
// input.
package transform
