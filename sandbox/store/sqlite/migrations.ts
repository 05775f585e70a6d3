/**
 * Inserts the beacons of one table into `session_beacon`, either all of them, or those that match a condition that
 * follows: beacons newer than any it has.
 */
export const insertSessionBeacons = {
  beacon: insertionOfBeacons('beacon', 1),
  aside_beacon: insertionOfBeacons('aside_beacon', 0),
}

function insertionOfBeacons(table: string, is_accepted: 0 | 1): string {
  return `INSERT INTO session_beacon (session, is_accepted, id, received_at_ms, latest_at_ms)
    SELECT job.session, ${is_accepted}, ${table}.id, ${table}.received_at_ms,
      max(
        max(${table}.received_at_ms) OVER (PARTITION BY job.session ORDER BY ${table}.id),
        coalesce((
          SELECT latest_at_ms FROM session_beacon present
          WHERE present.session = job.session AND present.is_accepted = ${is_accepted} ORDER BY present.id DESC LIMIT 1
        ), 0)
      )
    FROM ${table} CROSS JOIN slot ON slot.id = ${table}.slot_id CROSS JOIN job ON job.id = slot.job_id
    WHERE job.session IS NOT NULL`
}

/**
 * The schema, as append-only numbered steps: a database of version n has had the first n of them.
 *
 * Keys are time-ordered integers in rowid tables, so that every insert is at the end; nothing random is indexed but a
 * session's name and a key's hash, of which there are few. Names are the wire's names, times epoch milliseconds.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

  CREATE TABLE project (
    id INTEGER PRIMARY KEY,
    client_id TEXT NOT NULL UNIQUE,
    tenant_id INTEGER NOT NULL,
    config_revision INTEGER NOT NULL,
    settings TEXT NOT NULL               -- JSON: what differs from the default settings
  ) STRICT;

  CREATE TABLE api_key (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES project (id),
    class TEXT NOT NULL,                 -- secret, publishable
    mode TEXT NOT NULL,                  -- test, live
    hash BLOB NOT NULL UNIQUE,           -- SHA-256 of the key
    created_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER
  ) STRICT;

  CREATE TABLE activation (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL,
    key_id INTEGER NOT NULL,
    mode TEXT NOT NULL,
    hash BLOB NOT NULL,                  -- SHA-256 of the secret
    origin TEXT,                         -- null: a beacon token not yet bound
    slot_id INTEGER,                     -- set: a beacon token
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    UNIQUE (project_id, session_id)
  ) STRICT;

  CREATE TABLE consent (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES session (id),
    revision INTEGER NOT NULL,
    state TEXT NOT NULL,                 -- pending, granted, denied, withdrawn
    source TEXT NOT NULL,
    semantic_targeting INTEGER NOT NULL,
    prompt_shared INTEGER NOT NULL,
    extras TEXT NOT NULL,                -- JSON: kept, not acted on
    updated_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    UNIQUE (session, revision)
  ) STRICT;

  CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL,
    session INTEGER,
    job_type TEXT NOT NULL,
    mode TEXT NOT NULL,
    key_id INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    facts TEXT NOT NULL                  -- JSON of JobFacts; never prompt text
  ) STRICT;
  CREATE INDEX job_by_session ON job (session, id) WHERE session IS NOT NULL;

  CREATE TABLE slot (
    id INTEGER PRIMARY KEY,
    job_id INTEGER NOT NULL,
    due_at_ms INTEGER NOT NULL,
    decided_at_ms INTEGER,               -- null: pending
    format TEXT,                         -- null: pending or no fill
    campaign_id TEXT,
    creative_id TEXT,
    width INTEGER,
    height INTEGER,
    duration_ms INTEGER,
    gross_cpm REAL,
    currency TEXT,
    template_id TEXT,
    asset_token_hash BLOB,               -- SHA-256 of the secret
    no_fill_reason TEXT,
    label_text TEXT,
    consent TEXT,                        -- JSON: the bound snapshot
    trace TEXT,                          -- one letter a campaign
    catalogue INTEGER,
    topic TEXT,
    first_frame_at_ms INTEGER
  ) STRICT;
  CREATE INDEX slot_by_job ON slot (job_id);
  CREATE INDEX slot_pending ON slot (due_at_ms) WHERE decided_at_ms IS NULL;

  CREATE TABLE beacon (
    id INTEGER PRIMARY KEY,
    slot_id INTEGER NOT NULL,
    beacon_id TEXT NOT NULL,
    event TEXT NOT NULL,
    occurred_at_ms INTEGER NOT NULL,
    received_at_ms INTEGER NOT NULL,
    body_sha256 TEXT NOT NULL,
    measurements TEXT,                   -- JSON
    extras TEXT NOT NULL,                -- JSON: kept, not acted on
    UNIQUE (slot_id, beacon_id)
  ) STRICT;

  CREATE TABLE aside_beacon (
    id INTEGER PRIMARY KEY,
    verdict TEXT NOT NULL,               -- rejected, duplicate
    project_id INTEGER NOT NULL,
    slot_id INTEGER,
    beacon_id TEXT,
    event TEXT,
    occurred_at_ms INTEGER,
    received_at_ms INTEGER NOT NULL,
    reason_code TEXT NOT NULL
  ) STRICT;
  CREATE INDEX aside_beacon_by_slot ON aside_beacon (slot_id) WHERE slot_id IS NOT NULL;

  CREATE TABLE evidence (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,                  -- decision, consent, beacon
    ref INTEGER NOT NULL,                -- slot, consent, beacon
    slot_id INTEGER,
    at_ms INTEGER NOT NULL,
    entry TEXT NOT NULL,                 -- RFC 8785 canonical JSON
    hash BLOB NOT NULL,                  -- SHA-256 of the hash before and the entry
    UNIQUE (project_id, seq)
  ) STRICT;
  CREATE INDEX evidence_by_slot ON evidence (slot_id) WHERE slot_id IS NOT NULL;

  CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    project_id INTEGER,
    slot_id INTEGER,
    ref INTEGER
  ) STRICT;

  CREATE TABLE catalogue (
    id INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,
    demand TEXT NOT NULL                 -- JSON
  ) STRICT;

  CREATE TABLE exchange (
    id INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    status INTEGER NOT NULL,
    error TEXT,
    reason_code TEXT,
    duration_us INTEGER NOT NULL,
    project_id INTEGER,
    session_id TEXT,
    slot_id INTEGER,
    request_headers TEXT NOT NULL,
    request_body TEXT,
    response_headers TEXT NOT NULL,
    response_body TEXT
  ) STRICT;
  `,
  `
  ALTER TABLE exchange ADD COLUMN key_kind TEXT;     -- sk_test, sk_live, at, bt; null: no credential that is known
  ALTER TABLE exchange ADD COLUMN key_id INTEGER;
  `,
  `
  CREATE INDEX beacon_by_time ON beacon (received_at_ms);
  CREATE INDEX aside_beacon_by_time ON aside_beacon (received_at_ms);
  `,
  `
  CREATE TABLE callback (
    id INTEGER PRIMARY KEY,              -- that of its slot
    project_id INTEGER NOT NULL,
    key_id INTEGER NOT NULL,             -- its text, which signs, is in memory alone
    url TEXT NOT NULL,
    status TEXT NOT NULL,                -- waiting, retrying, delivered, failed, key_lost
    attempts INTEGER NOT NULL,
    http_status INTEGER,                 -- of the last attempt; null: no response
    problem TEXT,                        -- why the last attempt failed
    created_at_ms INTEGER NOT NULL,
    attempted_at_ms INTEGER
  ) STRICT;
  CREATE INDEX callback_unfinished ON callback (id) WHERE status IN ('waiting', 'retrying');
  `,
  `
  -- The beacons of a session, newest first: an index that neither table can have, since a beacon knows its slot alone.
  CREATE TABLE session_beacon (
    session INTEGER NOT NULL,
    is_accepted INTEGER NOT NULL,        -- 1: in beacon, 0: in aside_beacon
    id INTEGER NOT NULL,
    received_at_ms INTEGER NOT NULL,
    PRIMARY KEY (session, is_accepted, id)
  ) STRICT, WITHOUT ROWID;
  -- The next step fills it.
  `,
  `
  DROP TABLE session_beacon;
  CREATE TABLE session_beacon (
    session INTEGER NOT NULL,
    is_accepted INTEGER NOT NULL,        -- 1: in beacon, 0: in aside_beacon
    id INTEGER NOT NULL,
    received_at_ms INTEGER NOT NULL,
    latest_at_ms INTEGER NOT NULL,       -- the latest time of those up to this one: the clock can have moved back
    PRIMARY KEY (session, is_accepted, id)
  ) STRICT, WITHOUT ROWID;
  ${insertSessionBeacons.beacon} ORDER BY 1, 2, 3;
  ${insertSessionBeacons.aside_beacon} ORDER BY 1, 2, 3;
  `,
  `
  -- A consent entry has no slot: without an index it would be searched for in the whole chain.
  CREATE INDEX evidence_of_consent ON evidence (ref) WHERE kind = 'consent';
  `,
  `
  -- Lists by event, reason and kind read these in the order of ids.
  CREATE INDEX beacon_by_event ON beacon (event);
  CREATE INDEX aside_beacon_by_event ON aside_beacon (event);
  CREATE INDEX aside_beacon_by_reason ON aside_beacon (reason_code);
  CREATE INDEX evidence_by_kind ON evidence (kind) WHERE kind <> 'beacon';
  ALTER TABLE project ADD COLUMN verified_prefix TEXT;  -- JSON: how far its chain was verified, signed
  `,
  `
  -- evidence.entry of a beacon may be the version of the template by which its text follows from the rows (entries.ts).
  -- No row is changed: the texts that are there stay. An earlier version must not open a file without them.
  `,
]

/** Marks the file as ours: "SvcS". */
export const applicationId = 0x53766353
