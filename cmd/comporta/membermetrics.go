package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"comporta/service"
	"comporta/service/gateway"
)

// scrapeTimeout bounds the reading of the members for one scrape.
const scrapeTimeout = 5 * time.Second

var (
	memberLabels  = []string{"cluster", "member"}
	memberUp      = prometheus.NewDesc("comporta_member_up", "1 when the member has a live tunnel to this process, else 0.", memberLabels, nil)
	memberEnabled = prometheus.NewDesc("comporta_member_enabled", "1 when the member is enabled and not draining, else 0.", memberLabels, nil)
	memberRunning = prometheus.NewDesc("comporta_member_running_requests", "Requests that the member runs now.", memberLabels, nil)
	memberCPU     = prometheus.NewDesc("comporta_member_cpu_percent", "Averaged CPU use of the member's machine; absent when it cannot be read.", memberLabels, nil)
	memberMemory  = prometheus.NewDesc("comporta_member_memory_percent", "Averaged memory use of the member's machine; absent when it cannot be read.", memberLabels, nil)
)

// memberCollector reads every cluster's members at each scrape, so that a member that is down is a figure and not an absence.
type memberCollector struct{ service *service.Service }

// Describe implements prometheus.Collector.
func (c *memberCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{memberUp, memberEnabled, memberRunning, memberCPU, memberMemory} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *memberCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	clusters, err := c.service.Clusters.List(ctx, &gateway.Caller{TenantAdmin: true}, service.Organization, service.ClusterFilter{})
	if err != nil {
		to <- prometheus.NewInvalidMetric(memberUp, err)
		return
	}
	for i := range clusters {
		for j := range clusters[i].Members {
			collectMember(to, &clusters[i].Members[j])
		}
	}
}

func collectMember(to chan<- prometheus.Metric, m *service.MemberView) {
	gauge := func(d *prometheus.Desc, value float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, m.ClusterID.String(), m.ID.String())
	}
	truth := map[bool]float64{true: 1}
	gauge(memberUp, truth[m.Presence.Online])
	gauge(memberEnabled, truth[m.State == gateway.MemberEnabled && !m.Draining && !m.Presence.Draining])
	gauge(memberRunning, float64(m.Presence.InFlight))
	for desc, reading := range map[*prometheus.Desc]gateway.Reading{memberCPU: m.Presence.Load.CPU, memberMemory: m.Presence.Load.Memory} {
		if m.Presence.Online && reading.Known {
			gauge(desc, reading.Percent)
		}
	}
}
