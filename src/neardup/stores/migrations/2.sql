-- The first page of a cluster is looked up for every page that joins a large one.
DROP INDEX pages_by_cluster;
CREATE INDEX pages_by_cluster ON pages (cluster, number);
