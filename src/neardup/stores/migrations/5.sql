-- The latest keys come in a log (stores/keys.py). The table gets another name: a process of an
-- earlier version that has this store open would miss them, and must not go on.
ALTER TABLE keys RENAME TO sorted_keys;
CREATE TABLE recent_keys (
    number {int} NOT NULL PRIMARY KEY, kind {int} NOT NULL, content {blob} NOT NULL);
