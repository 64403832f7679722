PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO goose_db_version VALUES(1,0,1,'2026-11-30 05:47:14');
INSERT INTO goose_db_version VALUES(2,1,1,'2026-11-30 05:47:14');
CREATE TABLE counters (
    kind  TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counters VALUES('clusters',1);
INSERT INTO counters VALUES('principals',1);
CREATE TABLE tombstones (
    kind          TEXT NOT NULL,
    id            TEXT NOT NULL,
    change_number BIGINT NOT NULL,
    deleted_at    BIGINT NOT NULL,
    PRIMARY KEY (kind, id)
);
INSERT INTO tombstones VALUES('clusters','00000000-0000-4000-8000-000000000030',1,1796017634712396);
CREATE TABLE policy (
    one                 BIGINT PRIMARY KEY CHECK (one = 1),
    tenant_id           TEXT NOT NULL,
    resource_restricted BOOLEAN NOT NULL,
    personal_restricted BOOLEAN NOT NULL
);
INSERT INTO policy VALUES(1,'00000000-0000-4000-8000-000000000001',0,0);
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
INSERT INTO principals VALUES('00000000-0000-4000-8000-000000000002',1767323045000678,1,'admin@example.org','App','First administrator','Admin@example.org',1,0);
CREATE TABLE secrets (
    id           TEXT PRIMARY KEY,
    created_at   BIGINT NOT NULL,
    principal_id TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE,
    label        TEXT NOT NULL,
    hash         TEXT NOT NULL,
    expires_at   BIGINT NOT NULL
);
INSERT INTO secrets VALUES('00000000-0000-4000-8000-000000000003',1767323045000678,'00000000-0000-4000-8000-000000000002','first start','$argon2id$v=19$m=64,t=1,p=1$AAAA$AAAA',0);
CREATE TABLE signing_keys (
    id         TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL,
    public_key TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
INSERT INTO signing_keys VALUES('kid',1767323045000678,'ZGVy',2082855845000678);
CREATE TABLE installers (
    principal_id TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE,
    gateway_type TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (principal_id, gateway_type)
);
INSERT INTO installers VALUES('00000000-0000-4000-8000-000000000002','Resource',1767323045000678);
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
INSERT INTO clusters VALUES('00000000-0000-4000-8000-000000000010',1767323045000678,1,'fertigung süd','Fertigung Süd','it''s; --','','','home','00000000-0000-4000-8000-000000000011','Failover',0,0,'{"cpu":80}',5000000000,'{"modulus":"AQ==","exponent":"AQAB","salt":"c2FsdA==","time":1,"memory":64,"threads":1,"verifierHash":"dg==","sealed":"c2VhbGVk"}');
INSERT INTO clusters VALUES('00000000-0000-4000-8000-000000000020',1767323046000678,1,'empty','Empty','','','','','00000000-0000-4000-8000-000000000020','DistributeEvenly',0,0,'{}',0,'{"modulus":null,"exponent":null,"salt":null,"time":0,"memory":0,"threads":0,"verifierHash":null,"sealed":null}');
CREATE TABLE permissions (
    cluster_id    TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    principal_id  TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE,
    created_at    BIGINT NOT NULL,
    role          TEXT NOT NULL,
    allowed_types TEXT NOT NULL,
    PRIMARY KEY (cluster_id, principal_id)
);
INSERT INTO permissions VALUES('00000000-0000-4000-8000-000000000010','00000000-0000-4000-8000-000000000002',1767323045000678,'Admin','null');
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
INSERT INTO members VALUES('00000000-0000-4000-8000-000000000010',1767323045000678,'00000000-0000-4000-8000-000000000010','one','one','','','Enabled',0,'{}','','','',0);
INSERT INTO members VALUES('00000000-0000-4000-8000-000000000011',1767323046000678,'00000000-0000-4000-8000-000000000010','two','two','','','Disabled',0,'{}','a2V5','','',1767323045000678);
CREATE TABLE enrolments (
    token_hash TEXT PRIMARY KEY,
    cluster_id TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    member_id  TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
INSERT INTO enrolments VALUES('aGFzaA==','00000000-0000-4000-8000-000000000010','00000000-0000-4000-8000-000000000010',1767323045000678);
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
INSERT INTO data_sources VALUES('00000000-0000-4000-8000-000000000012',1767323045000678,'00000000-0000-4000-8000-000000000010','käse','Käse','PostgreSql','{"server":"db","database":"d"}','','','{"type":"Basic","encryption":"Encrypted","privacy":"Private","algorithm":"RSA-OAEP","envelope":"QUJD","version":1}');
CREATE TABLE data_source_users (
    data_source_id TEXT NOT NULL REFERENCES data_sources (id) ON DELETE CASCADE,
    principal_id   TEXT NOT NULL REFERENCES principals (id) ON DELETE CASCADE,
    created_at     BIGINT NOT NULL,
    role           TEXT NOT NULL,
    access_right   TEXT NOT NULL,
    PRIMARY KEY (data_source_id, principal_id)
);
INSERT INTO data_source_users VALUES('00000000-0000-4000-8000-000000000012','00000000-0000-4000-8000-000000000002',1767323045000678,'Owner','None');
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
INSERT INTO audit VALUES('00000000-0000-4000-8000-0000000000a1',1767323045000678,'','','','','cluster.create','','','','','');
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
INSERT INTO dispatch_records VALUES('00000000-0000-4000-8000-0000000000a2',1767323045000678,'','','00000000-0000-4000-8000-000000000010','00000000-0000-4000-8000-000000000011','00000000-0000-4000-8000-000000000012',1000000,1,2,1,'ok');
CREATE TABLE load_samples (
    member_id TEXT NOT NULL,
    at        BIGINT NOT NULL,
    load      TEXT NOT NULL,
    PRIMARY KEY (member_id, at)
);
INSERT INTO load_samples VALUES('00000000-0000-4000-8000-000000000011',1767323045000678,'{"cpu":{"percent":12.5,"known":true},"memory":{"percent":0,"known":false},"running":3}');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('goose_db_version',2);
CREATE INDEX tombstones_change ON tombstones (kind, change_number);
CREATE UNIQUE INDEX principals_email ON principals (folded) WHERE folded <> '';
CREATE INDEX principals_order ON principals (created_at, id);
CREATE INDEX principals_change ON principals (change_number);
CREATE INDEX secrets_principal ON secrets (principal_id, created_at, id);
CREATE UNIQUE INDEX clusters_name ON clusters (folded);
CREATE INDEX clusters_order ON clusters (created_at, id);
CREATE INDEX clusters_revision ON clusters (revision);
CREATE INDEX permissions_principal ON permissions (principal_id, cluster_id);
CREATE UNIQUE INDEX members_name ON members (cluster_id, folded);
CREATE INDEX enrolments_cluster ON enrolments (cluster_id);
CREATE INDEX enrolments_member ON enrolments (member_id);
CREATE UNIQUE INDEX data_sources_name ON data_sources (cluster_id, folded);
CREATE INDEX data_sources_cluster ON data_sources (cluster_id, created_at, id);
CREATE INDEX data_sources_order ON data_sources (created_at, id);
CREATE INDEX data_source_users_principal ON data_source_users (principal_id, data_source_id);
CREATE INDEX audit_at ON audit (at, id);
CREATE INDEX audit_cluster ON audit (cluster_id, at, id);
CREATE INDEX audit_resource ON audit (resource_id, at, id);
CREATE INDEX dispatch_records_at ON dispatch_records (at, id);
CREATE INDEX dispatch_records_cluster ON dispatch_records (cluster_id, at, id);
CREATE INDEX load_samples_at ON load_samples (at, member_id);
COMMIT;
