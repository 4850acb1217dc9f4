-- The words of pages by page number, for search over texts; empty unless the store was asked for it.
CREATE VIRTUAL TABLE words USING fts5(content, detail=none, columnsize=0);
