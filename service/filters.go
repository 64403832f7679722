package service

import "comporta/persistence"

// How lists are cut and narrowed. They are the store's own types under the names that the surfaces may use: api never imports
// persistence.
type (
	// Page cuts a list: skip so many, then at most Limit (0: all).
	Page = persistence.Page
	// After cuts a list by position: only what comes after it.
	After = persistence.After
	// ClusterFilter narrows a list of clusters.
	ClusterFilter = persistence.ClusterFilter
	// AuditFilter narrows the audit log.
	AuditFilter = persistence.AuditFilter
	// RecordFilter narrows dispatch records.
	RecordFilter = persistence.RecordFilter
)
