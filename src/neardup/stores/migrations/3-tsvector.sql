-- The words of pages by page number, for search over texts; empty unless the store was asked for it.
CREATE TABLE words (rowid BIGINT NOT NULL PRIMARY KEY, content TSVECTOR NOT NULL);
CREATE INDEX words_by_word ON words USING GIN (content);
