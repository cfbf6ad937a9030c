-- Sessions, their lines, what rewrites leave, blobs, and which daemons hold what.
--
-- No constraint looks at content: the server would write a refused line into its log.

CREATE TABLE sessiond.sessions (
    key      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner    text        NOT NULL DEFAULT current_user,
    id       text        NOT NULL,
    log_id   text        NOT NULL,  -- another one after a rewrite
    draft    boolean     NOT NULL,
    epoch    bigint      NOT NULL,  -- another one when lines are changed or removed; chosen by the daemon
    seq      bigint      NOT NULL,  -- the number of lines
    size     bigint      NOT NULL,  -- the bytes of all lines
    change   bigint      NOT NULL DEFAULT 0,
    modified timestamptz NOT NULL DEFAULT clock_timestamp(),
    tx       xid8        NOT NULL DEFAULT pg_current_xact_id(),  -- the last transaction that changed the row
    trash_id   text,                -- not null: the session is in the trash
    trashed_at timestamptz,
    note       jsonb                -- the reason, and by what a person recognizes the session
) WITH (fillfactor = 50);  -- an append then updates the row in place, as long as no index has its columns

CREATE UNIQUE INDEX sessions_id ON sessiond.sessions (owner, id) WHERE trash_id IS NULL;
CREATE UNIQUE INDEX sessions_trash_id ON sessiond.sessions (trash_id) WHERE trash_id IS NOT NULL;

-- bytea, because logs keep NUL and invalid UTF-8. Without a foreign key, which costs a look at the session for each
-- line: lines are only added by the statement that updates their session.
CREATE TABLE sessiond.lines (
    session bigint NOT NULL,
    seq     bigint NOT NULL,
    id      text,  -- null for the header, unreadable lines, and lines whose id a later line repeats
    raw     bytea  COMPRESSION lz4 NOT NULL,
    PRIMARY KEY (session, seq)
);

CREATE UNIQUE INDEX lines_id ON sessiond.lines (session, id) WHERE id IS NOT NULL;

-- Torn lines, and originals before a rewrite.
CREATE TABLE sessiond.remains (
    key     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner   text   NOT NULL DEFAULT current_user,
    ref     text   NOT NULL,
    session bigint NOT NULL REFERENCES sessiond.sessions ON DELETE CASCADE,
    UNIQUE (owner, ref)
);

CREATE INDEX remains_session ON sessiond.remains (session);

CREATE TABLE sessiond.remains_parts (
    remains bigint NOT NULL REFERENCES sessiond.remains ON DELETE CASCADE,
    part    bigint NOT NULL,
    raw     bytea  COMPRESSION lz4 NOT NULL,
    PRIMARY KEY (remains, part)
);

-- Stored uncompressed, so that the server reads a part of a blob without the rest.
CREATE TABLE sessiond.blobs (
    owner    text        NOT NULL DEFAULT current_user,
    hash     text        NOT NULL,
    size     bigint      NOT NULL,
    modified timestamptz NOT NULL DEFAULT clock_timestamp(),
    data     bytea       NOT NULL,
    PRIMARY KEY (owner, hash)
);

ALTER TABLE sessiond.blobs ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE sessiond.trashed_blobs (
    owner      text        NOT NULL DEFAULT current_user,
    folder     text        NOT NULL,
    hash       text        NOT NULL,
    trashed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    reason     text        NOT NULL,
    data       bytea       NOT NULL,
    PRIMARY KEY (owner, folder, hash)
);

ALTER TABLE sessiond.trashed_blobs ALTER COLUMN data SET STORAGE EXTERNAL;

-- A daemon that has not been seen for a while holds nothing any more.
CREATE TABLE sessiond.daemons (
    id   text        PRIMARY KEY,
    owner text       NOT NULL DEFAULT current_user,
    seen timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE sessiond.holders (
    session bigint NOT NULL REFERENCES sessiond.sessions ON DELETE CASCADE,
    daemon  text   NOT NULL REFERENCES sessiond.daemons ON DELETE CASCADE,
    PRIMARY KEY (session, daemon)
);

CREATE INDEX holders_daemon ON sessiond.holders (daemon);

CREATE TABLE sessiond.claims (
    session bigint NOT NULL REFERENCES sessiond.sessions ON DELETE CASCADE,
    work    text   NOT NULL,
    daemon  text   NOT NULL REFERENCES sessiond.daemons ON DELETE CASCADE,
    PRIMARY KEY (session, work)
);

CREATE INDEX claims_daemon ON sessiond.claims (daemon);
