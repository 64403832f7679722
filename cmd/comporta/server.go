package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"comporta/api"
	"comporta/persistence"
	"comporta/service"
	"comporta/service/gateway"
	"comporta/service/tunnel"
)

// What the HTTP server takes from a client before a handler decides.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	// unreadTimeout ends the connection of a client who takes nothing of an answer for so long. It is long enough for a pipeline that
	// works on what it has read before it reads on.
	unreadTimeout = 5 * time.Minute
	// closeTimeout bounds each step of a shutdown after the requests have had their time.
	closeTimeout = 5 * time.Second
	// claimTimeout is how long a service waits on its start for another one on the same state to end.
	claimTimeout = 10 * time.Second
)

// serverConfig is a service ready to start: the flags, and what must not be a flag.
type serverConfig struct {
	serveCmd
	databaseURL          string
	adminID, adminSecret string
	log                  *slog.Logger
}

// server is one running service: the database, the use cases, the tunnels and the listeners.
type server struct {
	// address is where clients on this machine find it; first the administrator, if this was the first start.
	address string
	first   service.FirstAdmin
	service *service.Service
	// failed gets the error that ends the service: of a listener that ended by itself, or that another service has the state now.
	failed chan error

	cfg serverConfig
	// publicURLGiven says that the public address was given, and is not just the one listened on.
	publicURLGiven bool

	store       *persistence.SQL
	tunnels     *tunnel.Registry
	presences   *presences
	metrics     *metrics // nil without --metrics-listen
	certificate *certificate
	http        []*http.Server
	// upkeep ends the background work, upkept waits for it.
	upkeep context.CancelFunc
	upkept sync.WaitGroup
	once   sync.Once
	result error
}

// startServer starts a service and returns once it takes requests. ctx bounds the start only.
func startServer(ctx context.Context, cfg serverConfig) (*server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, &usageError{err}
	}
	s := &server{cfg: cfg, failed: make(chan error, 2)}
	if err := s.start(ctx); err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		return nil, errors.Join(err, s.shutdown(closing))
	}
	return s, nil
}

func (s *server) start(ctx context.Context) error {
	listener, err := s.listen(ctx)
	if err != nil {
		return err
	}
	metrics, err := s.listenMetrics(ctx) // before open: the secret of a first administrator is shown only when the start succeeds
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	front := &front{}
	s.serve(listener, front, s.certificate)
	s.cfg.log.Info("the service starts", "address", s.address)
	if err := s.open(ctx); err != nil {
		if metrics != nil {
			err = errors.Join(err, metrics.Close())
		}
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.upkeep = stop
	if s.cfg.MetricsListen != "" {
		s.metrics = s.newMetrics() // before anything is counted
	}
	s.upkept.Go(func() { s.service.Run(running) })
	s.upkept.Go(func() { s.presences.run(running) })
	front.open(s.handler())
	s.startMetrics(metrics)
	return nil
}

// listen takes the address first, so that the port is known before anything needs it.
func (s *server) listen(ctx context.Context) (net.Listener, error) {
	scheme := "http"
	if s.cfg.TLSCert != "" {
		var err error
		if s.certificate, err = loadCertificate(s.cfg.TLSCert, s.cfg.TLSKey); err != nil {
			return nil, err
		}
		scheme = "https"
	}
	listener, err := listenTCP(ctx, s.cfg.Listen, unreadTimeout)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another --listen, or stop what holds it", s.cfg.Listen, err)
	}
	s.address = scheme + "://" + reachable(listener.Addr())
	if s.publicURLGiven = s.cfg.PublicURL != ""; !s.publicURLGiven {
		s.cfg.PublicURL = s.address
	}
	s.cfg.PublicURL = strings.TrimRight(s.cfg.PublicURL, "/")
	return listener, nil
}

// listenTCP listens; unread is how long a client may leave unread what was sent to him.
func listenTCP(ctx context.Context, address string, unread time.Duration) (net.Listener, error) {
	return (&net.ListenConfig{Control: unreadControl(unread)}).Listen(ctx, "tcp", address)
}

// reachable turns the address listened on into one that can be asked: every address of the machine becomes the machine's name.
func reachable(address net.Addr) string {
	at, ok := address.(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return address.String()
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return net.JoinHostPort(host, fmt.Sprint(at.Port))
}

// open opens the database and puts the use cases and the tunnels together.
func (s *server) open(ctx context.Context) error {
	var err error
	s.store, err = persistence.Open(ctx, persistence.Config{DataDir: s.cfg.Data, URL: s.cfg.databaseURL, Exclusive: claimTimeout, OnLost: s.fail, Now: time.Now, Log: s.cfg.log})
	if err != nil {
		return err
	}
	keys := &memberKeys{}
	s.presences = newPresences(s.cfg.log)
	s.tunnels = tunnel.NewRegistry(tunnel.Config{Keys: keys, Now: time.Now, Log: s.cfg.log, OnPresence: s.presences.note})
	regions, err := s.cfg.regions()
	if err != nil {
		return err
	}
	s.service = service.New(service.Config{
		Store: s.store, Tunnels: s.tunnels, Envelopes: envelopes{},
		Now: time.Now, NewID: newID, Random: rand.Reader, Pick: mathrand.IntN, Log: s.cfg.log,
		Issuer: s.cfg.PublicURL, Issuers: s.cfg.issuers(s.cfg.log), Regions: regions, TokenLifetime: s.cfg.TokenLifetime, AllowPlainCredentials: s.cfg.AllowPlainCredentials,
		OnRecord: func(r gateway.DispatchRecord) { s.metrics.note(r) },
	})
	keys.members, s.presences.service = s.service.Members, s.service
	s.first, err = s.service.Tenant.Start(ctx, s.cfg.TenantID, s.cfg.adminID, s.cfg.adminSecret)
	return err
}

// handler is everything on the service's address.
func (s *server) handler() http.Handler {
	surface := api.New(api.Config{Service: s.service, Tunnel: s.tunnels, PublicURL: s.cfg.PublicURL, PublicURLGiven: s.publicURLGiven, Ready: s.store.Ping, Log: s.cfg.log,
		NewID: newID, Now: time.Now, RatePerSecond: s.cfg.RateLimit, Version: version})
	return s.metrics.measured(surface.Handler())
}

// newID makes a random id.
func newID() gateway.ID { return gateway.ID(uuid.NewString()) }

// serve answers requests on a listener until shutdown.
func (s *server) serve(listener net.Listener, handler http.Handler, cert *certificate) {
	h := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.cfg.log.Handler(), slog.LevelDebug)}
	answer := func() error { return h.Serve(listener) }
	if cert != nil {
		h.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: cert.get}
		answer = func() error { return h.ServeTLS(listener, "", "") }
	}
	s.http = append(s.http, h)
	s.upkept.Go(func() {
		if err := answer(); !errors.Is(err, http.ErrServerClosed) {
			s.fail(fmt.Errorf("the listener on %s ended: %w", listener.Addr(), err))
		}
	})
}

// fail ends the service. The first reason counts.
func (s *server) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// reload reads the certificate again.
func (s *server) reload() {
	if s.certificate == nil {
		s.cfg.log.Info("SIGHUP: there is nothing to read again without --tls-cert")
		return
	}
	if err := s.certificate.load(); err != nil {
		s.cfg.log.Error("the certificate could not be read again; the old one stays in use", "error", err)
		return
	}
	s.cfg.log.Info("the certificate was read again")
}

// shutdown stops in order: no new requests, running ones finish until ctx ends, tunnels, upkeep (which writes what is in hand), database.
// Every step is bounded. Calling it again returns what the first call returned.
func (s *server) shutdown(ctx context.Context) error {
	s.once.Do(func() { s.result = s.stop(ctx) })
	return s.result
}

func (s *server) stop(ctx context.Context) error {
	var errs []error
	for _, h := range s.http {
		if err := h.Shutdown(ctx); err != nil {
			s.cfg.log.Warn("some requests did not finish in time and are cut", "error", err)
			errs = append(errs, h.Close())
		}
	}
	// What comes now is short and must happen even when the requests took all the time.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if s.tunnels != nil {
		errs = append(errs, s.tunnels.Close(ctx))
	}
	if s.upkeep != nil {
		s.upkeep()
	}
	s.upkept.Wait()
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}
