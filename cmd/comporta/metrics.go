package main

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"comporta/service/gateway"
)

// metrics are the figures of one service. They name clusters and members by id, and no principal or data source.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge

	dispatches *prometheus.CounterVec
	attempts   prometheus.Counter
	duration   prometheus.Histogram
}

var secondsBuckets = []float64{.001, .005, .02, .1, .5, 2, 10, 60, 600}

func (s *server) newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		dispatches: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "comporta_dispatches_total",
			Help: "Dispatches by outcome: ok, or the code of the error, such as a refusal by limits."}, []string{"outcome"}),
		attempts: prometheus.NewCounter(prometheus.CounterOpts{Name: "comporta_dispatch_attempts_total",
			Help: "Members that dispatches were sent to; more than dispatches means failovers."}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "comporta_dispatch_seconds", Help: "Time of a dispatch to its last byte.", Buckets: secondsBuckets}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "comporta_http_requests_total", Help: "Answered requests by method and status."}, []string{"method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "comporta_http_request_seconds", Help: "Time from a request's header to its last byte.",
			Buckets: secondsBuckets}, []string{"method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "comporta_http_requests_in_flight", Help: "Requests being answered now."}),
	}
	online := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "comporta_members_online", Help: "Members with a live tunnel to this process."},
		func() float64 { return float64(len(s.tunnels.Online())) })
	lost := prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "comporta_history_lost_total", Help: "Dispatch records and load samples that could not be written."},
		func() float64 { return float64(s.service.History.Lost()) })
	m.registry.MustRegister(m.requests, m.seconds, m.inFlight, m.dispatches, m.attempts, m.duration, &memberCollector{s.service}, online, lost, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// note counts a dispatch. Without metrics it does nothing.
func (m *metrics) note(r gateway.DispatchRecord) {
	if m == nil {
		return
	}
	m.dispatches.WithLabelValues(r.Outcome).Inc()
	m.attempts.Add(float64(r.Attempts))
	m.duration.Observe(r.Duration.Seconds())
}

// measured counts what a handler answers. Without metrics it is the handler itself.
func (m *metrics) measured(next http.Handler) http.Handler {
	if m == nil {
		return next
	}
	return promhttp.InstrumentHandlerInFlight(m.inFlight, promhttp.InstrumentHandlerCounter(m.requests, promhttp.InstrumentHandlerDuration(m.seconds, next)))
}

// listenMetrics takes the address of /metrics; nil when none was given.
func (s *server) listenMetrics(ctx context.Context) (net.Listener, error) {
	if s.cfg.MetricsListen == "" {
		return nil, nil
	}
	listener, err := listenTCP(ctx, s.cfg.MetricsListen, unreadTimeout)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another --metrics-listen", s.cfg.MetricsListen, err)
	}
	return listener, nil
}

// startMetrics serves /metrics on its own address, if one was given.
func (s *server) startMetrics(listener net.Listener) {
	if listener == nil {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	s.serve(listener, mux, nil)
	s.cfg.log.Info("serving metrics", "address", listener.Addr().String())
}
