package powerbi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/service"
	"comporta/service/gateway"
)

// protocol is what a test's caller speaks.
type protocol string

const (
	plain  protocol = "HTTP/1.1"
	secure protocol = "HTTP/1.1 over TLS"
	http2  protocol = "HTTP/2"
)

// serving answers with these responses, one after the other. ended says that an answer's handler has returned; end
// does what closing a body does.
func serving(t *testing.T, speaks protocol, end func(), responses ...*service.Response) (server *httptest.Server, ended chan struct{}) {
	t.Helper()
	ended = make(chan struct{}, 1)
	next := make(chan *service.Response, len(responses))
	for _, r := range responses {
		r.Summary = func() gateway.Summary { return gateway.Summary{} }
		next <- r
	}
	close(next)
	e := echo.New()
	e.GET("/", func(c echo.Context) error {
		defer func() {
			select {
			case ended <- struct{}{}:
			default:
			}
		}()
		defer end()
		r, ok := <-next
		if !ok {
			return echo.ErrNotFound
		}
		return streamed(c, r)
	})
	server = httptest.NewUnstartedServer(e)
	if server.EnableHTTP2 = speaks == http2; speaks == plain {
		server.Start()
	} else {
		server.StartTLS()
	}
	t.Cleanup(server.Close)
	return server, ended
}

// A caller that never reads holds his answer no longer than the request may take, and what he gets of it is visibly broken.
func TestACallerThatStandsStillIsCutWhenTheTimeIsUp(t *testing.T) {
	for _, speaks := range []protocol{plain, secure, http2} {
		t.Run(string(speaks), func(t *testing.T) {
			t.Parallel()
			ctx, end := context.WithCancel(context.Background())
			server, ended := serving(t, speaks, end, &service.Response{Context: ctx, Length: -1, Body: io.NopCloser(zeros{})})
			resp, err := server.Client().Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.ReadFull(resp.Body, make([]byte, 300)); err != nil {
				t.Fatal(err)
			}
			end()
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Fatal("the answer still waits for its caller")
			}
			if _, err := io.Copy(io.Discard, resp.Body); err == nil {
				t.Error("the answer looks complete")
			}
		})
	}
}

// untilTheEnd is an answer of which the rest does not come in the request's time.
type untilTheEnd struct {
	io.Reader
	ctx context.Context
}

func (u *untilTheEnd) Read(p []byte) (int, error) {
	if n, err := u.Reader.Read(p); err == nil {
		return n, nil
	}
	<-u.ctx.Done()
	return copy(p, strings.Repeat("x", 3000)), gateway.Wrap(gateway.CodeTimeout, u.ctx.Err(), "The time is up.")
}

// A caller who reads sees an answer that its member does not bring to an end in time break off, and not an error of the encryption.
func TestAnAnswerThatIsNotCompleteInTimeBreaksOffInOrder(t *testing.T) {
	for _, speaks := range []protocol{plain, secure} {
		t.Run(string(speaks), func(t *testing.T) {
			t.Parallel()
			ctx, end := context.WithCancel(context.Background())
			server, _ := serving(t, speaks, end, &service.Response{Context: ctx, Length: -1, Body: io.NopCloser(&untilTheEnd{strings.NewReader("some"), ctx})})
			resp, err := server.Client().Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			time.AfterFunc(50*time.Millisecond, end)
			if got, err := io.ReadAll(resp.Body); !strings.HasPrefix(string(got), "some") || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// An answer that was complete in time leaves its connection as it was.
func TestAConnectionOutlivesAnswersThatCameInTime(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, length := range []int64{-1, int64(len(long))} {
		ctx, end := context.WithCancel(context.Background())
		answer := func() *service.Response {
			return &service.Response{Context: ctx, Length: length, Body: io.NopCloser(strings.NewReader(long))}
		}
		last := answer()
		last.Context = nil
		server, _ := serving(t, plain, end, answer(), last)
		for _, reused := range []bool{false, true} {
			req, _ := http.NewRequest("GET", server.URL, nil)
			trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
				if c.Reused != reused {
					t.Errorf("the connection is used again: %v, want %v", c.Reused, reused)
				}
			}}
			resp, err := server.Client().Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != long {
				t.Errorf("length %d: %d bytes, %v", length, len(got), err)
			}
		}
	}
}

// unasked is a context that nobody may wait for.
type unasked struct {
	context.Context
	t *testing.T
}

func (u unasked) Done() <-chan struct{} {
	u.t.Error("a short answer was armed against a caller that stands still")
	return nil
}

func TestAShortAnswerPaysNothingForThat(t *testing.T) {
	server, _ := serving(t, plain, func() {}, &service.Response{Context: unasked{context.Background(), t}, Length: 3, Body: io.NopCloser(strings.NewReader("abc"))})
	resp, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
}
