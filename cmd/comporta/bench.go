package main

// benchCmd generates load and measures.
type benchCmd struct{}
