package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"

	"comporta/api/fabric"
	"comporta/api/oauth"
	"comporta/api/powerbi"
	"comporta/service/gateway"
	"comporta/service/tunnel"
)

// retryStarting is what callers are told to wait for while the service starts, in seconds: most starts are over by then.
const retryStarting = "2"

// front answers on the service's address from the moment it is listened on. Until the service is there, and the wait for another one on the
// same state or a migration may take long, it says that the process lives and is not ready: whoever looks after it would kill it otherwise.
type front struct{ service atomic.Pointer[http.Handler] }

// open lets requests through to the service.
func (f *front) open(service http.Handler) { f.service.Store(&service) }

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if service := f.service.Load(); service != nil {
		(*service).ServeHTTP(w, r)
		return
	}
	starting(w, r)
}

// starting answers while there is no service.
func starting(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if r.URL.Path == "/healthz" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		h.Set("Content-Type", "text/plain; charset=UTF-8")
		_, _ = w.Write([]byte("ok\n"))
		return
	}
	id := newID().String()
	h.Set("RequestId", id)
	if r.URL.Path != tunnel.Path { // to a member a time is a no, see unavailable
		h.Set("Retry-After", retryStarting)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(unavailable(r.URL.Path, id))
}

// unavailable is the error in the form of the surface that was asked.
func unavailable(path, id string) any {
	const message = "The service is starting. Try again in a moment."
	code := string(gateway.CodeUnavailable)
	switch {
	case path == tunnel.Path:
		// Without a code, because to a member that is a no, too, after which it stays away for longer and longer. This is as nobody being there.
		return map[string]any{"error": map[string]any{"message": message}}
	case strings.Contains(path, "oauth2/"):
		return oauth.ErrorResponse{Error: "temporarily_unavailable", Description: message}
	case strings.HasPrefix(path, "/v1/"):
		return fabric.ErrorResponse{ErrorCode: code, Message: message, RequestID: id, IsRetriable: true}
	}
	return powerbi.ErrorResponse{Error: powerbi.ErrorBody{Code: code, Message: message,
		PBI: powerbi.PBIError{Code: code, Parameters: map[string]string{}, Details: []powerbi.ErrorDetail{}, ExceptionCulprit: 1}}}
}
