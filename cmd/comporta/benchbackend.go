package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"
)

// The two answers of the backend, in bytes.
const (
	smallBody = 1 << 10
	largeBody = 64 << 20
)

// benchBackendCmd answers /small with 1 KiB and /large with 64 MiB.
type benchBackendCmd struct{}

// Run serves until ctx ends.
func (benchBackendCmd) Run(ctx context.Context, p *process) error {
	block := bytes.Repeat([]byte("comporta "), 64<<10/9+1)[:64<<10]
	answer := func(size int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Length", strconv.Itoa(size))
			for left := size; left > 0; left -= len(block) {
				if _, err := w.Write(block[:min(left, len(block))]); err != nil {
					return
				}
			}
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /small", answer(smallBody))
	mux.HandleFunc("GET /large", answer(largeBody))
	return serveUntil(ctx, p, mux)
}

// benchProxyCmd is the standard library's reverse proxy, to compare with.
type benchProxyCmd struct {
	Target string `arg:"" help:"The backend's address."`
}

// Run serves until ctx ends.
func (c benchProxyCmd) Run(ctx context.Context, p *process) error {
	target, err := url.Parse(c.Target)
	if err != nil {
		return usagef("%q is not an address", c.Target)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	return serveUntil(ctx, p, proxy)
}

// serveUntil serves on a free port of loopback until ctx ends, and says where.
func serveUntil(ctx context.Context, p *process, handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.printf("listening on http://%s\n", listener.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
