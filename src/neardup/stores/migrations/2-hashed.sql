-- PostgreSQL refuses index entries above 2.7 KB, and ids and hosts may be longer: it indexes hashes.
ALTER TABLE pages DROP CONSTRAINT pages_id_key;
ALTER TABLE pages ADD CONSTRAINT pages_id_key EXCLUDE {hashed} (id WITH =);
DROP INDEX pages_by_host;
CREATE INDEX pages_by_host ON pages {hashed} (host);
ALTER TABLE state DROP CONSTRAINT state_pkey;
CREATE INDEX state_by_key ON state {hashed} (key);
CREATE INDEX state_by_map ON state (map);
ALTER TABLE feedback DROP CONSTRAINT feedback_pkey;
CREATE INDEX feedback_by_a ON feedback {hashed} (a);
