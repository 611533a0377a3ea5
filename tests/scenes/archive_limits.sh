#!/bin/bash
#
# Limits of bytes in WARC files: a crawl's own, which ends it, and the one of
# all crawls, which pauses them.
. "$(dirname "$0")/scene.bash"

web pages=60 links=6

# summary FILE KEY: of the crawl's last event
summary() { json "events[-1]$2" "$1"; }

# --- --max-bytes

# One page at a time, so that a commit has one capture.
code "a crawl with a limit of bytes" 0 "$A" crawl "$WEB/" --data d1 \
	--concurrency 1 --max-bytes 40KiB --json
cp code.out end.json
same "... is complete by it" "$(summary end.json '["reason"]')" max_bytes
bytes=$(summary end.json '["counts"]["warc_bytes"]')
size=$(stat -c %s d1/archive/*.warc.gz)
last=$(("$size" - $("$A" archive ls --data d1 | awk 'END { print $2 }')))
check "... at $bytes bytes, not before" test "$bytes" -ge 40960
check "... and not a capture later" test $((bytes - last)) -lt 40960
check "... and its files are sound" "$A" archive check --data d1
code "a crawl with a limit that it does not reach" 0 "$A" crawl "$WEB/" \
	--data d2 --max-bytes 1GiB --json
same "... ends when everything was fetched" \
	"$(json 'events[-1]["reason"]' code.out)" "everything was fetched"
code "a limit that is no size" 64 "$A" crawl "$WEB/" --data d3 --max-bytes many
has "... is named" "--max-bytes many: must be a size" code.err

# --- archive.bytes_max

code "the limit of all crawls stops a crawl" 75 "$A" crawl "$WEB/" \
	--data d4 --concurrency 1 --set archive.bytes_max=40KiB
has "... says why" "it is paused (archive.bytes_max)" code.err
"$A" status --data d4 --json >status.json
same "... the crawl is paused" \
	"$(json 'events[0]["crawls"][0]["state"]' status.json)" paused
same "... with the reason" \
	"$(json 'events[0]["crawls"][0]["reason"]' status.json)" \
	archive.bytes_max
code "with the same limit it is paused again" 75 "$A" crawl --resume \
	--data d4 --set archive.bytes_max=40KiB
code "another crawl counts what the first has written" 75 "$A" crawl \
	"$WEB/" --data d4 --warc-dir other --set archive.bytes_max=40KiB
code "without the limit it goes on" 0 "$A" crawl --resume --name 0 --data d4
check "... to the end, nothing twice" "$A" archive check --data d4

# In a daemon they wait, and one that is resumed goes on where there is room.
daemon d4 --set archive.bytes_max=1KiB
port=$(sed 's/.* //' out)
curl -s "${port}metrics" >metrics
check "the daemon tells the limit" grep -q '^argiope_archive_bytes_max 1024' metrics
check "... and how much there is" grep -Eq '^argiope_archive_bytes [1-9][0-9]{4}' metrics
