#!/bin/sh
# After Heritrix: write each finished WARC again, unchanged pages as revisit records.
#
#     examples/heritrix_revisits.sh jobs/news/latest/warcs slim sqlite:///news.db
#
# Files that Heritrix still writes (*.open) wait for the next run, and files that were done are not
# done again: run it from cron. A file in the second folder is complete. It holds the pages; other
# records (requests, images, metadata) stay in the first folder, which is only read.
set -eu
warcs=$1 slim=$2 store=$3
mkdir -p "$slim"
for warc in "$warcs"/*.warc.gz; do
    new=$slim/${warc##*/}
    [ -e "$warc" ] || continue
    [ -e "$new" ] && continue
    neardup check "$warc" --store "$store" --write-kept "$new" --revisit --json >"$new.answers"
done
