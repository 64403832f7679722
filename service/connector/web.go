package connector

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"comporta/service/gateway"
)

// Bounds of web requests.
const (
	maxRedirects      = 5
	maxResponseHeader = 64 << 10
)

// web is a registered web address. Requests go to its scheme, host and port, and to paths below its own; nowhere else, not by a
// redirect either. Whether it is spoken to by TLS is what its address says.
type web struct {
	base          *url.URL
	where         string
	authorization string
	accept        string
	client        *http.Client
}

func openWeb(d *gateway.TaskSource, creds gateway.Credentials) (source, error) {
	place, err := gateway.ParsePlace(d.Type, d.ConnectionDetails)
	if err != nil {
		return nil, err
	}
	mode, err := encryptionOf(d)
	if err != nil {
		return nil, err
	}
	w := &web{base: place.URL, where: place.URL.Host, accept: "*/*"}
	if d.Type == gateway.TypeOData {
		w.accept = "application/json"
	}
	if w.authorization, err = authorizationOf(d, creds); err != nil {
		return nil, err
	}
	w.client = &http.Client{Transport: webTransport(mode), CheckRedirect: w.redirect}
	return w, nil
}

// webTransport uses no proxy: the address is on the private network, and its credentials are for nobody else.
func webTransport(mode encryption) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: mode != encryptAlways}, // wanted: see encryptAny
		TLSHandshakeTimeout:    connectTimeout,
		MaxConnsPerHost:        maxConnections,
		MaxIdleConnsPerHost:    maxConnections, // fewer would make busy requests dial anew
		IdleConnTimeout:        connectionIdle,
		MaxResponseHeaderBytes: maxResponseHeader,
		ExpectContinueTimeout:  time.Second,
		ForceAttemptHTTP2:      true,
	}
}

// authorizationOf makes the Authorization header from the stored credentials; "" for Anonymous.
func authorizationOf(d *gateway.TaskSource, creds gateway.Credentials) (string, error) {
	switch strings.ToLower(d.Credential.Type) {
	case "anonymous", "":
		return "", nil
	case "basic", "windows":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(creds["username"]+":"+creds["password"])), nil
	case "key":
		if key := creds["key"]; key != "" && validHeaderValue(key) {
			return "Bearer " + key, nil
		}
		return "", gateway.Errorf(gateway.CodeDataSourceCredentials, "The stored credentials have no usable key.")
	}
	return "", gateway.Errorf(gateway.CodeDataSourceCredentials, "Credentials of type %q cannot be used for a web address.", d.Credential.Type)
}

func (w *web) close() { w.client.CloseIdleConnections() }

// redirect lets a redirect pass that stays within the registered address.
func (w *web) redirect(next *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects {
		return gateway.Errorf(gateway.CodeQuery, "The web address at %s redirects more than %d times.", w.where, maxRedirects)
	}
	if !within(w.base, next.URL) {
		return gateway.Errorf(gateway.CodeNotAllowedHere, "The web address at %s redirects to another place, which is not followed.", w.where)
	}
	return nil
}

func (w *web) probe(ctx context.Context) error {
	answer, err := w.send(ctx, &gateway.HTTPCall{Method: http.MethodGet}, w.base, true)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if s := answer.StatusCode; s == http.StatusUnauthorized || s == http.StatusForbidden {
		return gateway.Errorf(gateway.CodeDataSourceAccess, "The web address at %s refused the credentials with status %d.", w.where, s)
	}
	return nil
}

func (w *web) run(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
	if err := errors.Join(checkMethod(task.HTTP.Method, task.ReadOnly), checkHeaders(task.HTTP.Headers, task.ReadOnly)); err != nil {
		return gateway.Summary{}, err
	}
	target, err := join(w.base, task.HTTP.Path)
	if err != nil {
		return gateway.Summary{}, err
	}
	answer, err := w.send(ctx, task.HTTP, target, task.ReadOnly)
	if err != nil {
		return gateway.Summary{}, err
	}
	defer answer.Body.Close()
	header := gateway.AnswerHeader{ContentType: answer.Header.Get("Content-Type"), UpstreamStatus: answer.StatusCode}
	// A length without a body is that of an answer to another request; over HTTP/2 reading such a body fails.
	bodiless := task.HTTP.Method == http.MethodHead || answer.StatusCode == http.StatusNoContent || answer.StatusCode == http.StatusNotModified
	if !bodiless {
		header.PromisedLength = max(answer.ContentLength, 0)
	}
	if err := out.Begin(header); err != nil || bodiless {
		return gateway.Summary{}, mayStand(brokenOutput(err))
	}
	return gateway.Summary{}, mayStand(w.stream(answer.Body, out))
}

var readMethods = []string{http.MethodGet, http.MethodHead, http.MethodOptions}
var writeMethods = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func checkMethod(method string, readOnly bool) error {
	switch {
	case slices.Contains(readMethods, method):
		return nil
	case !slices.Contains(writeMethods, method):
		return gateway.Errorf(gateway.CodeInvalid, "The method %q is not one of %s, %s.", method, strings.Join(readMethods, ", "), strings.Join(writeMethods, ", "))
	case readOnly:
		return writes("the method is " + method)
	}
	return nil
}

// send sends a request. When it may write, its failure says whether a request had left before: the one after a redirect, or after a connection
// that the server let go, may fail to connect although the first was served. (net/http repeats a write by itself only when it has an
// Idempotency-Key, with which the caller says that this is harmless, or when not a byte of it was written.)
func (w *web) send(ctx context.Context, call *gateway.HTTPCall, target *url.URL, readOnly bool) (*http.Response, error) {
	way := new(trail)
	if !readOnly {
		ctx = way.noted(ctx)
	}
	request, err := w.request(ctx, call, target)
	if err != nil {
		return nil, err
	}
	answer, err := w.client.Do(request)
	if err != nil {
		return nil, w.failure(err, way)
	}
	return answer, nil
}

// trail is how far a request has come. met: it has a connection. left: it is on its way; headers count, not the whole request, for a server may
// answer before it has read the body. A request that is given up in between may leave unseen, over HTTP/2: net/http does not wait for whoever
// writes it.
type trail struct{ met, left atomic.Bool }

// noted notes how far the request of the context that it returns comes.
func (t *trail) noted(ctx context.Context) context.Context {
	leaves := func() { t.left.Store(true) }
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { t.met.Store(true) }, WroteHeaders: leaves, GotFirstResponseByte: leaves})
}

func (w *web) request(ctx context.Context, call *gateway.HTTPCall, target *url.URL) (*http.Request, error) {
	var body io.Reader
	if call.Body != "" {
		body = strings.NewReader(call.Body)
	}
	request, err := http.NewRequestWithContext(ctx, call.Method, "", body)
	if err != nil {
		return nil, gateway.Errorf(gateway.CodeInvalid, "The request cannot be made from its method and path.")
	}
	request.URL, request.Host = target, target.Host
	request.Header.Set("Accept", w.accept)
	if err := copyHeaders(request.Header, call.Headers); err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "comporta")
	if w.authorization != "" {
		request.Header.Set("Authorization", w.authorization)
	}
	return request, nil
}

// stream copies the body as it comes. The output decides when it goes out.
func (w *web) stream(body io.Reader, out gateway.Output) error {
	buffer := gateway.TakeBuffer()
	defer buffer.Release()
	for {
		part, err := buffer.Read(body)
		if len(part) > 0 {
			if _, err := out.Write(part); err != nil {
				return brokenOutput(err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return accessFailure(w.where, asked(err))
		}
	}
}

// failure says what the failure of a request means, and whether the server may have done it all the same.
func (w *web) failure(err error, way *trail) error {
	failure := w.described(err, way.left.Load())
	if way.met.Load() {
		return mayStand(failure)
	}
	return failure
}

// described keeps our own refusals. Everything else is an address that cannot be reached; its text is not used, because it repeats the URL.
func (w *web) described(err error, left bool) error {
	var known *gateway.Error
	if errors.As(err, &known) {
		return known
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	if left {
		err = asked(err)
	}
	return accessFailure(w.where, err)
}
