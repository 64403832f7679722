// Package rest is what the surfaces have in common: the route type, strict decoding, request values and error answers.
//
// It imports service, gateway and echo. It knows no surface; each surface brings its own wire types and its own Style of errors.
package rest
