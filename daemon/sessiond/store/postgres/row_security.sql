-- Optional: the server itself refuses each role the sessions of others. A person runs it once as the owner of the tables,
-- after the first daemon has made them, and grants each person's role what the last lines show.

ALTER TABLE sessiond.sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sessiond.sessions USING (owner = current_user) WITH CHECK (owner = current_user);

ALTER TABLE sessiond.lines ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sessiond.lines
    USING (EXISTS (SELECT FROM sessiond.sessions s WHERE s.key = session AND s.owner = current_user))
    WITH CHECK (EXISTS (SELECT FROM sessiond.sessions s WHERE s.key = session AND s.owner = current_user));

ALTER TABLE sessiond.remains ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sessiond.remains USING (owner = current_user) WITH CHECK (owner = current_user);

ALTER TABLE sessiond.remains_parts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sessiond.remains_parts
    USING (EXISTS (SELECT FROM sessiond.remains r WHERE r.key = remains AND r.owner = current_user))
    WITH CHECK (EXISTS (SELECT FROM sessiond.remains r WHERE r.key = remains AND r.owner = current_user));

ALTER TABLE sessiond.blobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sessiond.blobs USING (owner = current_user) WITH CHECK (owner = current_user);

ALTER TABLE sessiond.trashed_blobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sessiond.trashed_blobs USING (owner = current_user) WITH CHECK (owner = current_user);

ALTER TABLE sessiond.daemons ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sessiond.daemons USING (owner = current_user) WITH CHECK (owner = current_user);

ALTER TABLE sessiond.holders ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sessiond.holders
    USING (EXISTS (SELECT FROM sessiond.sessions s WHERE s.key = session AND s.owner = current_user))
    WITH CHECK (EXISTS (SELECT FROM sessiond.sessions s WHERE s.key = session AND s.owner = current_user));

ALTER TABLE sessiond.claims ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sessiond.claims
    USING (EXISTS (SELECT FROM sessiond.sessions s WHERE s.key = session AND s.owner = current_user))
    WITH CHECK (EXISTS (SELECT FROM sessiond.sessions s WHERE s.key = session AND s.owner = current_user));

-- GRANT USAGE ON SCHEMA sessiond TO alice;
-- GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sessiond TO alice;
-- REVOKE INSERT, UPDATE, DELETE ON sessiond.migrations FROM alice;
