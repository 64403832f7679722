-- +goose Up
CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO counters (name, value) VALUES ('clusters', 0), ('principals', 0);
CREATE TABLE tombstones (kind TEXT NOT NULL, id TEXT NOT NULL, change BIGINT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (kind, id));
CREATE INDEX tombstones_change ON tombstones (kind, change);

CREATE TABLE policy (one BIGINT PRIMARY KEY, tenant_id TEXT NOT NULL, resource_restricted BOOLEAN NOT NULL, personal_restricted BOOLEAN NOT NULL);

CREATE TABLE principals (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, email TEXT NOT NULL, folded_email TEXT UNIQUE,
    tenant_admin BOOLEAN NOT NULL, disabled BOOLEAN NOT NULL, created_at BIGINT NOT NULL, change BIGINT NOT NULL);
CREATE INDEX principals_change ON principals (change);
CREATE INDEX principals_order ON principals (created_at, id);
CREATE TABLE secrets (
    id TEXT PRIMARY KEY, principal_id TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE, label TEXT NOT NULL, hash TEXT NOT NULL,
    created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL);
CREATE INDEX secrets_principal ON secrets (principal_id);
CREATE TABLE signing_keys (id TEXT PRIMARY KEY, public_key TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL);
CREATE TABLE installers (
    principal_id TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE, type TEXT NOT NULL, created_at BIGINT NOT NULL, PRIMARY KEY (principal_id, type));

CREATE TABLE clusters (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, folded_name TEXT NOT NULL UNIQUE, description TEXT NOT NULL, department TEXT NOT NULL, contact_info TEXT NOT NULL,
    region TEXT NOT NULL, primary_id TEXT NOT NULL, mode TEXT NOT NULL, allow_cloud_refresh BOOLEAN NOT NULL, allow_custom_connectors BOOLEAN NOT NULL,
    limits TEXT NOT NULL, queue_timeout BIGINT NOT NULL, cluster_key TEXT NOT NULL, created_at BIGINT NOT NULL, revision BIGINT NOT NULL, change BIGINT NOT NULL);
CREATE INDEX clusters_order ON clusters (created_at, id);
CREATE INDEX clusters_change ON clusters (change);
CREATE TABLE members (
    id TEXT PRIMARY KEY, cluster_id TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE, name TEXT NOT NULL, folded_name TEXT NOT NULL, description TEXT NOT NULL,
    annotation TEXT NOT NULL, state TEXT NOT NULL, draining BOOLEAN NOT NULL, limits TEXT NOT NULL, public_key TEXT NOT NULL, version TEXT NOT NULL, machine TEXT NOT NULL,
    created_at BIGINT NOT NULL, last_seen BIGINT NOT NULL, UNIQUE (cluster_id, folded_name));
CREATE TABLE enrolments (
    token_hash TEXT PRIMARY KEY, cluster_id TEXT NOT NULL, member_id TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE, expires_at BIGINT NOT NULL);
CREATE INDEX enrolments_member ON enrolments (member_id);
CREATE TABLE permissions (
    cluster_id TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE, principal_id TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE, role TEXT NOT NULL,
    allowed_types TEXT NOT NULL, created_at BIGINT NOT NULL, PRIMARY KEY (cluster_id, principal_id));
CREATE INDEX permissions_principal ON permissions (principal_id);

CREATE TABLE data_sources (
    id TEXT PRIMARY KEY, cluster_id TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE, name TEXT NOT NULL, folded_name TEXT NOT NULL, type TEXT NOT NULL,
    connection_details TEXT NOT NULL, annotation TEXT NOT NULL, single_sign_on TEXT NOT NULL, credential TEXT NOT NULL, created_at BIGINT NOT NULL,
    UNIQUE (cluster_id, folded_name));
CREATE INDEX data_sources_order ON data_sources (cluster_id, created_at, id);
CREATE TABLE data_source_users (
    data_source_id TEXT NOT NULL REFERENCES data_sources (id) ON DELETE CASCADE, principal_id TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE,
    role TEXT NOT NULL, access_right TEXT NOT NULL, created_at BIGINT NOT NULL, PRIMARY KEY (data_source_id, principal_id));
CREATE INDEX data_source_users_principal ON data_source_users (principal_id);

CREATE TABLE audit (
    id TEXT PRIMARY KEY, at BIGINT NOT NULL, caller_id TEXT NOT NULL, caller TEXT NOT NULL, came_from TEXT NOT NULL, request_id TEXT NOT NULL, action TEXT NOT NULL,
    kind TEXT NOT NULL, resource_id TEXT NOT NULL, cluster_id TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL);
CREATE INDEX audit_order ON audit (at, id);
CREATE INDEX audit_cluster ON audit (cluster_id, at, id);
CREATE TABLE dispatch_records (
    id TEXT PRIMARY KEY, at BIGINT NOT NULL, request_id TEXT NOT NULL, caller_id TEXT NOT NULL, cluster_id TEXT NOT NULL, member_id TEXT NOT NULL, data_source_id TEXT NOT NULL,
    duration BIGINT NOT NULL, row_count BIGINT NOT NULL, bytes BIGINT NOT NULL, attempts BIGINT NOT NULL, outcome TEXT NOT NULL);
CREATE INDEX dispatch_records_order ON dispatch_records (at, id);
CREATE INDEX dispatch_records_cluster ON dispatch_records (cluster_id, at, id);
CREATE TABLE load_samples (
    member_id TEXT NOT NULL, at BIGINT NOT NULL, cpu DOUBLE PRECISION, memory DOUBLE PRECISION, running BIGINT NOT NULL);
CREATE INDEX load_samples_member ON load_samples (member_id, at);
CREATE INDEX load_samples_at ON load_samples (at);

-- +goose Down
DROP TABLE load_samples;
