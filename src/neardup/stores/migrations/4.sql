-- Which page stands for a cluster (its number), and what the policies that choose it look at.
ALTER TABLE clusters ADD COLUMN kept {int};
ALTER TABLE pages ADD COLUMN canonical_url TEXT NOT NULL DEFAULT '';
ALTER TABLE pages ADD COLUMN observed {bool};
