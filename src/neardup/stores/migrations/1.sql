-- The int, bool, blob and real types are the database's own; packed makes a table its own index.
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE pages (
    number {int} NOT NULL PRIMARY KEY, id TEXT NOT NULL UNIQUE, url TEXT NOT NULL,
    host TEXT NOT NULL, title TEXT NOT NULL, time {int}, added {int} NOT NULL,
    seen {int} NOT NULL, size {int} NOT NULL, length {int} NOT NULL,
    digest {int} NOT NULL, sister {int} NOT NULL, decidable {bool} NOT NULL,
    cluster {int} NOT NULL);
CREATE INDEX pages_by_cluster ON pages (cluster);
CREATE INDEX pages_by_host ON pages (host);
CREATE INDEX pages_by_seen ON pages (seen);
CREATE TABLE texts (number {int} NOT NULL PRIMARY KEY, content {blob} NOT NULL);
CREATE TABLE features (number {int} NOT NULL PRIMARY KEY, content {blob} NOT NULL);
CREATE TABLE surveys (number {int} NOT NULL PRIMARY KEY, content {blob} NOT NULL);
CREATE TABLE keys (
    key {int} NOT NULL, number {int} NOT NULL, PRIMARY KEY (key, number)){packed};
CREATE TABLE sites (
    site {int} NOT NULL, number {int} NOT NULL, PRIMARY KEY (site, number)){packed};
CREATE INDEX sites_by_page ON sites (number);
CREATE TABLE edges (
    a {int} NOT NULL, b {int} NOT NULL, relation TEXT NOT NULL, similarity {real},
    PRIMARY KEY (a, b)){packed};
CREATE INDEX edges_by_b ON edges (b);
CREATE TABLE clusters (
    cluster {int} NOT NULL PRIMARY KEY, size {int} NOT NULL, created {int} NOT NULL,
    changed {int} NOT NULL, moved_to {int});
CREATE INDEX clusters_by_size ON clusters (size, cluster);
CREATE INDEX clusters_by_change ON clusters (changed, cluster);
CREATE TABLE events (
    number {int} NOT NULL PRIMARY KEY, at {int} NOT NULL, cluster {int} NOT NULL,
    kind TEXT NOT NULL, page TEXT NOT NULL, other {int});
CREATE INDEX events_by_cluster ON events (cluster);
CREATE TABLE state (
    map TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (map, key)){packed};
CREATE TABLE feedback (
    a TEXT NOT NULL, b TEXT NOT NULL, duplicate {bool} NOT NULL, at {int} NOT NULL,
    note TEXT NOT NULL, PRIMARY KEY (a, b));
