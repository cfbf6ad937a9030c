-- The statements of the store. `queries.py` reads them by name.

-- name: identify
-- Which server this is, for positions: it may have been replaced by a replica, or by an older copy of itself.
SELECT current_user::text AS owner,
       (SELECT system_identifier::text FROM pg_control_system()) || '/'
           || (SELECT oid FROM pg_database WHERE datname = current_database()) AS system,
       CASE WHEN NOT pg_is_in_recovery() THEN
           ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int
       END AS timeline;

-- name: backend
SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid();

-- name: fence
-- End a former connection of this daemon, which may still be executing its last statement. False: it has not ended.
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2;

-- name: append
-- Add the batches of many sessions in one transaction. A session to which other lines came first is left out.
-- The rows are locked in one order first, so that two daemons do not wait for each other.
WITH batch AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
        AS b(key, epoch, seq, count, size)
), locked AS MATERIALIZED (
    SELECT s.key FROM sessiond.sessions s JOIN batch USING (key) ORDER BY s.key FOR UPDATE OF s
), moved AS (
    UPDATE sessiond.sessions s
    SET seq = s.seq + b.count, size = s.size + b.size, change = s.change + 1, modified = clock_timestamp(),
        tx = pg_current_xact_id()
    FROM batch b JOIN locked USING (key)
    WHERE s.key = b.key AND s.epoch = b.epoch AND s.seq = b.seq AND s.trash_id IS NULL
    RETURNING s.key, b.seq AS first, s.seq
), added AS (
    INSERT INTO sessiond.lines(session, seq, id, raw)
    SELECT m.key, m.first + l.place, l.id, l.raw
    FROM unnest($6::bigint[], $7::bigint[], $8::text[], $9::bytea[]) AS l(key, place, id, raw)
    JOIN moved m USING (key)
)
SELECT key, pg_notify('sessiond', key || ' ' || seq),
       CASE WHEN $10::bool THEN set_config('synchronous_commit', 'off', true) END
FROM moved;

-- name: flush
-- A commit that writes something is needed: one that only reads waits for nothing.
SELECT pg_logical_emit_message(true, 'sessiond', '');

-- name: lines_from
-- The state of a session and its lines from a seq on, as of one moment.
SELECT s.epoch, s.seq AS last, s.log_id, s.draft, s.trash_id IS NOT NULL AS trashed, l.raw
FROM sessiond.sessions s LEFT JOIN sessiond.lines l ON l.session = s.key AND l.seq >= $2 AND l.seq < $3
WHERE s.key = $1
ORDER BY l.seq;

-- name: look
-- The states of open sessions, with the digest of the last line that this daemon has.
SELECT w.key, s.epoch, s.seq AS last, s.draft, s.trash_id IS NOT NULL AS trashed, sha256(l.raw) AS digest
FROM unnest($1::bigint[], $2::bigint[]) AS w(key, seq)
LEFT JOIN sessiond.sessions s ON s.key = w.key
LEFT JOIN sessiond.lines l ON l.session = w.key AND l.seq = w.seq - 1;

-- name: lock
SELECT epoch, seq AS last FROM sessiond.sessions WHERE key = $1 AND trash_id IS NULL FOR UPDATE;

-- name: create
INSERT INTO sessiond.sessions(owner, id, log_id, draft, epoch, seq, size, modified)
VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8, clock_timestamp()))
ON CONFLICT (owner, id) WHERE trash_id IS NULL DO NOTHING
RETURNING key;

-- name: insert_lines
INSERT INTO sessiond.lines(session, seq, id, raw)
SELECT $1, $2 + l.place - 1, l.id, l.raw
FROM unnest($3::text[], $4::bytea[]) WITH ORDINALITY AS l(id, raw, place);

-- name: notify
-- Something else than its end has changed.
SELECT pg_notify('sessiond', key || ' ' || seq || ' changed') FROM sessiond.sessions WHERE key = $1;

-- name: find
SELECT key, id, log_id, draft, epoch, seq, size FROM sessiond.sessions
WHERE owner = $1 AND id = $2 AND trash_id IS NULL;

-- name: find_any
-- The key of the session with this id, or of the one with this place in the trash.
SELECT key, seq, size FROM sessiond.sessions
WHERE owner = $1 AND ((id = $2 AND trash_id IS NULL) OR trash_id = $3);

-- name: ids
SELECT key, id FROM sessiond.sessions WHERE key = ANY($1::bigint[]) AND owner = $2;

-- name: list
-- Sessions that a transaction changed which the last snapshot ($2) did not see as done, and those that are named.
SELECT c.snapshot, c.total, s.key, s.id, s.draft, s.size, s.epoch, s.change, s.trash_id IS NOT NULL AS trashed,
       (extract(epoch FROM s.modified) * 1000000)::bigint AS modified
FROM (
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS snapshot,
           (SELECT count(*) FROM sessiond.sessions WHERE owner = $1 AND trash_id IS NULL) AS total
) c
LEFT JOIN sessiond.sessions s ON s.owner = $1 AND s.tx >= $2::text::xid8;

-- name: line_at
-- The line that has the byte at an offset, and the offset of its first byte.
SELECT seq, before FROM (
    SELECT seq, (sum(length(raw)) OVER (ORDER BY seq) - length(raw))::bigint AS before
    FROM sessiond.lines WHERE session = $1
) AS lines
WHERE before <= $2 ORDER BY seq DESC LIMIT 1;

-- name: raw_lines
SELECT seq, raw FROM sessiond.lines WHERE session = $1 AND seq >= $2 ORDER BY seq LIMIT $3;

-- name: raw_lines_back
SELECT seq, raw FROM sessiond.lines WHERE session = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3;

-- name: change_session
-- Begin a change of lines. No row: another change came first.
UPDATE sessiond.sessions
SET epoch = $3, log_id = $4, change = change + 1, modified = clock_timestamp(), tx = pg_current_xact_id()
WHERE key = $1 AND epoch = $2 AND trash_id IS NULL
RETURNING seq, size;

-- name: epoch_of
SELECT epoch FROM sessiond.sessions WHERE key = $1 AND trash_id IS NULL FOR UPDATE;

-- name: set_extent
UPDATE sessiond.sessions SET seq = $2, size = $3 WHERE key = $1;

-- name: delete_lines
DELETE FROM sessiond.lines WHERE session = $1 AND seq >= $2;

-- name: replace_line
UPDATE sessiond.lines SET raw = $3 WHERE session = $1 AND seq = $2;

-- name: promote
UPDATE sessiond.sessions SET draft = false, change = change + 1, tx = pg_current_xact_id()
WHERE key = $1 AND draft AND trash_id IS NULL;

-- name: remains_refs
SELECT ref FROM sessiond.remains WHERE owner = $1 AND starts_with(ref, $2);

-- name: add_remains
INSERT INTO sessiond.remains(owner, ref, session) VALUES ($1, $2, $3) RETURNING key;

-- name: remains_from_lines
INSERT INTO sessiond.remains_parts(remains, part, raw)
SELECT $1, seq, raw FROM sessiond.lines WHERE session = $2 AND seq >= $3;

-- name: remains_part
INSERT INTO sessiond.remains_parts(remains, part, raw) VALUES ($1, $2, $3);

-- name: find_remains
SELECT key FROM sessiond.remains WHERE owner = $1 AND ref = $2;

-- name: raw_remains
SELECT part AS seq, raw FROM sessiond.remains_parts WHERE remains = $1 AND part >= $2 ORDER BY part LIMIT $3;

-- name: list_remains
SELECT ref FROM sessiond.remains WHERE owner = $1
UNION ALL
SELECT 'trash/' || trash_id FROM sessiond.sessions WHERE owner = $1 AND trash_id IS NOT NULL;

-- name: trash
UPDATE sessiond.sessions
SET trash_id = $2, trashed_at = $3, note = $4, change = change + 1, tx = pg_current_xact_id()
WHERE key = $1 AND trash_id IS NULL
RETURNING seq;

-- name: add_trashed
-- No row: the trash has this deletion.
INSERT INTO sessiond.sessions(owner, id, log_id, draft, epoch, seq, size, trash_id, trashed_at, note)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (trash_id) WHERE trash_id IS NOT NULL DO NOTHING
RETURNING key;

-- name: trashed_as
SELECT trash_id FROM sessiond.sessions WHERE key = $1;

-- name: list_trash
SELECT s.trash_id, s.id, s.draft, s.size, s.trashed_at, s.note,
       ARRAY(SELECT r.ref FROM sessiond.remains r WHERE r.session = s.key ORDER BY r.key) AS remains
FROM sessiond.sessions s
WHERE s.owner = $1 AND s.trash_id IS NOT NULL
ORDER BY s.trashed_at DESC, s.trash_id DESC;

-- name: find_trashed
SELECT key, id, note FROM sessiond.sessions WHERE owner = $1 AND trash_id = $2 FOR UPDATE;

-- name: restore
-- The retention would trash it again by its age, so that it counts as written now.
UPDATE sessiond.sessions
SET trash_id = NULL, trashed_at = NULL, note = NULL, change = change + 1, modified = clock_timestamp(),
    tx = pg_current_xact_id()
WHERE key = $1;

-- name: delete_session
DELETE FROM sessiond.sessions WHERE key = $1;

-- name: put_blob
INSERT INTO sessiond.blobs(owner, hash, size, data) VALUES ($1, $2, $3, $4)
ON CONFLICT (owner, hash) DO UPDATE SET modified = clock_timestamp()
RETURNING xmax = 0 AS created;

-- name: touch_blobs
UPDATE sessiond.blobs SET modified = clock_timestamp() WHERE owner = $1 AND hash = ANY($2::text[]) RETURNING hash;

-- name: blob
SELECT size, substring(data FROM $3::int FOR $4::int) AS data FROM sessiond.blobs WHERE owner = $1 AND hash = $2;

-- name: blob_size
SELECT size FROM sessiond.blobs WHERE owner = $1 AND hash = $2;

-- name: list_blobs
SELECT hash, size, (extract(epoch FROM modified) * 1000000)::bigint AS modified FROM sessiond.blobs WHERE owner = $1;

-- name: trash_blobs
WITH moved AS (
    DELETE FROM sessiond.blobs
    WHERE owner = $1 AND hash = ANY($2::text[]) AND (extract(epoch FROM modified) * 1000000)::bigint < $3
    RETURNING hash, data
), kept AS (
    INSERT INTO sessiond.trashed_blobs(owner, folder, hash, reason, data)
    SELECT $1, $4, hash, $5, data FROM moved
    ON CONFLICT DO NOTHING
)
SELECT hash FROM moved;

-- name: seen
INSERT INTO sessiond.daemons(id, owner) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET seen = clock_timestamp();

-- name: forget_daemons
DELETE FROM sessiond.daemons
WHERE owner = $1 AND (id = $2 OR seen < clock_timestamp() - $3::float8 * interval '2 seconds');

-- name: count_daemons
SELECT count(*) FROM sessiond.daemons
WHERE owner = $1 AND id <> $2 AND seen > clock_timestamp() - $3::float8 * interval '1 second';

-- name: lock_id
SELECT key FROM sessiond.sessions WHERE owner = $1 AND id = $2 AND trash_id IS NULL FOR UPDATE;

-- name: hold
INSERT INTO sessiond.holders(session, daemon)
SELECT key, $3 FROM sessiond.sessions WHERE owner = $1 AND id = ANY($2::text[]) AND trash_id IS NULL
ON CONFLICT DO NOTHING;

-- name: release
DELETE FROM sessiond.holders WHERE session = $1 AND daemon = $2;

-- name: held
-- Sessions that a daemon other than $3 holds which was seen in the last $4 seconds.
SELECT DISTINCT s.id
FROM sessiond.sessions s JOIN sessiond.holders h ON h.session = s.key JOIN sessiond.daemons d ON d.id = h.daemon
WHERE s.owner = $1 AND s.id = ANY($2::text[]) AND s.trash_id IS NULL
  AND d.id <> $3 AND d.seen > clock_timestamp() - $4::float8 * interval '1 second';

-- name: claim
INSERT INTO sessiond.claims(session, work, daemon)
SELECT key, $3, $4 FROM sessiond.sessions WHERE owner = $1 AND id = $2 AND trash_id IS NULL
ON CONFLICT (session, work) DO UPDATE SET daemon = excluded.daemon
WHERE claims.daemon = excluded.daemon OR NOT EXISTS (
    SELECT FROM sessiond.daemons d
    WHERE d.id = claims.daemon AND d.seen > clock_timestamp() - $5::float8 * interval '1 second'
)
RETURNING true;

-- name: end_claim
DELETE FROM sessiond.claims c USING sessiond.sessions s
WHERE c.session = s.key AND s.owner = $1 AND s.id = $2 AND c.work = $3 AND c.daemon = $4;

-- name: durability
SELECT current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('synchronous_standby_names') AS standby_names, current_setting('fsync') AS fsync,
       current_setting('server_version') AS version;
