package issuer

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// What a provider may make us do.
const (
	answerTimeout = 10 * time.Second
	maxDocument   = 1 << 20
	// Each token with an unknown key makes us ask the provider for new ones; anybody can send such tokens. So many asks pass at once, then
	// one per pause.
	asksAtOnce = 6
	askPause   = 5 * time.Second
)

// errBusy is the answer to one ask too many.
var errBusy = errors.New("the issuer's keys were read a moment ago")

// newClients makes two HTTP clients that read little and follow no redirection. The first asks when it is told to, which is seldom; the
// other only while there are asks left, of which both take, so that those who spend the other's do not keep the first from asking.
func newClients(now func() time.Time) (due, spare *http.Client) {
	asks := &sparing{now: now, left: asksAtOnce, at: now()}
	client := func(ask http.RoundTripper) *http.Client {
		return &http.Client{
			Timeout:       answerTimeout,
			Transport:     ask,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return client(counted{asks}), client(asks)
}

// counted takes an ask if there is one, and asks in any case.
type counted struct{ asks *sparing }

// RoundTrip implements http.RoundTripper.
func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = c.asks.take()
	return ask(r)
}

// sparing is a transport with a token bucket.
type sparing struct {
	now  func() time.Time
	mu   sync.Mutex
	left float64
	at   time.Time
}

// RoundTrip implements http.RoundTripper.
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	if !s.take() {
		return nil, errBusy
	}
	return ask(r)
}

func ask(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		resp.Body = &bounded{io.LimitReader(resp.Body, maxDocument), resp.Body}
	}
	return resp, err
}

func (s *sparing) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	// A clock that was set back gives nothing and takes nothing.
	s.left = min(asksAtOnce, s.left+max(0, float64(now.Sub(s.at))/float64(askPause)))
	s.at = now
	if s.left < 1 {
		return false
	}
	s.left--
	return true
}

// bounded is a body that ends early if it is long.
type bounded struct {
	io.Reader
	io.Closer
}
