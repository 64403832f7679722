-- +goose Up

-- One change number per kind. The row is locked until commit, so the numbers become visible in their order.
CREATE TABLE counters (
    kind  TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counters (kind, value) VALUES ('clusters', 0), ('principals', 0);

-- What was deleted, kept a while for those who follow the change numbers.
CREATE TABLE tombstones (
    kind          TEXT NOT NULL,
    id            TEXT NOT NULL,
    change_number BIGINT NOT NULL,
    deleted_at    BIGINT NOT NULL,
    PRIMARY KEY (kind, id)
);
CREATE INDEX tombstones_change ON tombstones (kind, change_number);

CREATE TABLE policy (
    one                 BIGINT PRIMARY KEY CHECK (one = 1),
    tenant_id           TEXT NOT NULL,
    resource_restricted BOOLEAN NOT NULL,
    personal_restricted BOOLEAN NOT NULL
);

CREATE TABLE principals (
    id            TEXT PRIMARY KEY,
    created_at    BIGINT NOT NULL,
    change_number BIGINT NOT NULL,
    folded        TEXT NOT NULL,
    kind          TEXT NOT NULL,
    name          TEXT NOT NULL,
    email         TEXT NOT NULL,
    tenant_admin  BOOLEAN NOT NULL,
    disabled      BOOLEAN NOT NULL
);
CREATE UNIQUE INDEX principals_email ON principals (folded) WHERE folded <> '';
CREATE INDEX principals_order ON principals (created_at, id);
CREATE INDEX principals_change ON principals (change_number);

CREATE TABLE secrets (
    id           TEXT PRIMARY KEY,
    created_at   BIGINT NOT NULL,
    principal_id TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE,
    label        TEXT NOT NULL,
    hash         TEXT NOT NULL,
    expires_at   BIGINT NOT NULL
);
CREATE INDEX secrets_principal ON secrets (principal_id, created_at, id);

CREATE TABLE signing_keys (
    id         TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL,
    public_key TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE installers (
    principal_id TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE,
    gateway_type TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (principal_id, gateway_type)
);

CREATE TABLE clusters (
    id                      TEXT PRIMARY KEY,
    created_at              BIGINT NOT NULL,
    revision                BIGINT NOT NULL,
    folded                  TEXT NOT NULL,
    name                    TEXT NOT NULL,
    description             TEXT NOT NULL,
    department              TEXT NOT NULL,
    contact_info            TEXT NOT NULL,
    region                  TEXT NOT NULL,
    primary_id              TEXT NOT NULL,
    mode                    TEXT NOT NULL,
    allow_cloud_refresh     BOOLEAN NOT NULL,
    allow_custom_connectors BOOLEAN NOT NULL,
    limits                  TEXT NOT NULL,
    queue_timeout           BIGINT NOT NULL, -- nanoseconds
    cluster_key             TEXT NOT NULL
);
CREATE UNIQUE INDEX clusters_name ON clusters (folded);
CREATE INDEX clusters_order ON clusters (created_at, id);
CREATE INDEX clusters_revision ON clusters (revision);

CREATE TABLE permissions (
    cluster_id    TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    principal_id  TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE,
    created_at    BIGINT NOT NULL,
    role          TEXT NOT NULL,
    allowed_types TEXT NOT NULL,
    PRIMARY KEY (cluster_id, principal_id)
);
CREATE INDEX permissions_principal ON permissions (principal_id, cluster_id);

CREATE TABLE members (
    id          TEXT PRIMARY KEY,
    created_at  BIGINT NOT NULL,
    cluster_id  TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    folded      TEXT NOT NULL,
    name        TEXT NOT NULL,
    description TEXT NOT NULL,
    annotation  TEXT NOT NULL,
    state       TEXT NOT NULL,
    draining    BOOLEAN NOT NULL,
    limits      TEXT NOT NULL,
    public_key  TEXT NOT NULL,
    version     TEXT NOT NULL,
    machine     TEXT NOT NULL,
    last_seen   BIGINT NOT NULL
);
CREATE UNIQUE INDEX members_name ON members (cluster_id, folded);

CREATE TABLE enrolments (
    token_hash TEXT PRIMARY KEY,
    cluster_id TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    member_id  TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX enrolments_cluster ON enrolments (cluster_id);
CREATE INDEX enrolments_member ON enrolments (member_id);

CREATE TABLE data_sources (
    id                 TEXT PRIMARY KEY,
    created_at         BIGINT NOT NULL,
    cluster_id         TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    folded             TEXT NOT NULL,
    name               TEXT NOT NULL,
    kind               TEXT NOT NULL,
    connection_details TEXT NOT NULL,
    annotation         TEXT NOT NULL,
    single_sign_on     TEXT NOT NULL,
    credential         TEXT NOT NULL
);
CREATE UNIQUE INDEX data_sources_name ON data_sources (cluster_id, folded);
CREATE INDEX data_sources_cluster ON data_sources (cluster_id, created_at, id);
CREATE INDEX data_sources_order ON data_sources (created_at, id);

CREATE TABLE data_source_users (
    data_source_id TEXT NOT NULL REFERENCES data_sources (id) ON DELETE CASCADE,
    principal_id   TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE,
    created_at     BIGINT NOT NULL,
    role           TEXT NOT NULL,
    access_right   TEXT NOT NULL,
    PRIMARY KEY (data_source_id, principal_id)
);
CREATE INDEX data_source_users_principal ON data_source_users (principal_id, data_source_id);

-- History refers to nothing: it outlives what it speaks of.
CREATE TABLE audit (
    id          TEXT PRIMARY KEY,
    at          BIGINT NOT NULL,
    caller_id   TEXT NOT NULL,
    caller      TEXT NOT NULL,
    caller_from TEXT NOT NULL,
    request_id  TEXT NOT NULL,
    action      TEXT NOT NULL,
    kind        TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    cluster_id  TEXT NOT NULL,
    before_json TEXT NOT NULL,
    after_json  TEXT NOT NULL
);
CREATE INDEX audit_at ON audit (at, id);
CREATE INDEX audit_cluster ON audit (cluster_id, at, id);
CREATE INDEX audit_resource ON audit (resource_id, at, id);

CREATE TABLE dispatch_records (
    id             TEXT PRIMARY KEY,
    at             BIGINT NOT NULL,
    request_id     TEXT NOT NULL,
    caller_id      TEXT NOT NULL,
    cluster_id     TEXT NOT NULL,
    member_id      TEXT NOT NULL,
    data_source_id TEXT NOT NULL,
    duration       BIGINT NOT NULL, -- nanoseconds
    row_count      BIGINT NOT NULL,
    byte_count     BIGINT NOT NULL,
    attempts       BIGINT NOT NULL,
    outcome        TEXT NOT NULL
);
CREATE INDEX dispatch_records_at ON dispatch_records (at, id);
CREATE INDEX dispatch_records_cluster ON dispatch_records (cluster_id, at, id);

CREATE TABLE load_samples (
    member_id TEXT NOT NULL,
    at        BIGINT NOT NULL,
    load      TEXT NOT NULL,
    PRIMARY KEY (member_id, at)
);
CREATE INDEX load_samples_at ON load_samples (at, member_id);
