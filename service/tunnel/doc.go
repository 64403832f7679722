// Package tunnel carries requests over connections that members dial out: HTTP/2 with reversed roles, from the standard library alone.
//
// A member dials GET /tunnel with an HTTP/1.1 Upgrade and, after the 101, serves HTTP/2 on that connection while the service is its
// HTTP/2 client. Streams, flow control, cancellation, trailers and pings come with the protocol. Registry is the service's side:
// it accepts tunnels, knows each member's presence and sends tasks. Dialer is the member's side.
// It imports gateway and the standard library.
package tunnel
