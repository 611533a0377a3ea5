#!/bin/bash
#
# Log, index and archive of different moments and copies: each combination
# works, or is refused with a command that brings back what the archive holds.
# FOREIGN_PAIRS combinations (20) from FOREIGN_SEED, which is printed.
. "$(dirname "$0")/scene.bash"

web pages=40 delay=0.01
timeout 1500 python3 "$HERE/foreign_state.py" "$A" "$WEB/" \
	"${FOREIGN_PAIRS:-20}" "${FOREIGN_SEED:-$RANDOM}" ||
	fail "combinations of log, index and archive"

# --- a copy whose original is there, moved directories --------------------------
"$A" crawl "$WEB/" --data own --quiet --max-pages 10
cp -r own copy
code "a copy is refused while its original is there" 70 \
	"$A" crawl "$WEB/" --data copy --quiet
has "... and why" "it is a copy of $PWD/own, which is still there" code.err
has "... with what to do" "argiope archive reindex --rebuild --data" code.err
code "... which makes it a directory of its own" 0 \
	"$A" archive reindex --rebuild --data copy
code "... it works" 0 "$A" crawl "$WEB/" --data copy --quiet --max-pages 5
code "... and so does the original" 0 "$A" crawl "$WEB/" --data own --quiet \
	--max-pages 5
mv own moved
"$A" crawl "$WEB/" --data moved --json >events
same "a moved one works" $? 0
has "... in its own archive" "\"warc_dir\":\"$PWD/moved/archive\"" events
has "... where its duplicates are found" '"duplicates":' events
check "... and nothing is where it was" test ! -e own

# Commands name it by relative paths too.
"$A" status --data moved --json >status.json
has "a relative name changes no path" "\"warc_dir\":\"$PWD/moved/archive\"" \
	status.json
has "... nor its place" "place $PWD/moved" moved/identity

# --- a rebuild that was killed while it moved its work into place -----------------
mkdir -p moved/.rebuild/index
echo -n replaced-9 >moved/.rebuild/ready
code "a start refuses" 70 "$A" crawl "$WEB/" --data moved --quiet
has "... with what to do" "archive reindex --rebuild --data $PWD/moved" code.err
rm -r moved/.rebuild/index
code "... which goes on" 0 "$A" archive reindex --rebuild --data moved
code "... and it works" 0 "$A" crawl "$WEB/" --data moved --quiet --max-pages 2

# --- one WARC directory, two data directories ------------------------------------
"$A" crawl "$WEB/" --data one --warc-dir "$PWD/w" --quiet --max-pages 5
code "a WARC directory has one data directory" 70 "$A" crawl "$WEB/" \
	--data two --warc-dir "$PWD/w" --quiet
has "... which is named" "belongs to another data directory, $PWD/one" code.err
code "rebuild needs no name for it" 0 "$A" archive reindex --rebuild --data one
has "... and finds its captures" "holds 5 captures of 1 crawl" code.out
rm -r one/index one/log
code "index and log lost" 70 "$A" crawl "$WEB/" --data one --quiet
has "... what to do" "archive reindex --rebuild --data $PWD/one" code.err
code "... which works" 0 "$A" archive reindex --rebuild --data one
rm -r one/log
code "the log lost" 70 "$A" crawl "$WEB/" --data one --quiet
has "... says so" "commit log" code.err
code "... and comes back" 0 "$A" archive reindex --rebuild --data one
"$A" crawl "$WEB/" --data one --json --max-pages 2 >events
same "... no id is given again" "$(json 'events[0]["crawl"]' events)" 1

# --- what no WARC file tells: the urlfrontier door's queues, crawls, numbers --------
printf '%s\n' http://a.test/1 http://a.test/2 http://b.test/1 >seeds
door() {
	daemon door --set urlfrontier.listen=127.0.0.1:0
	PORT=$(sed -n 's/.* urlfrontier .*://p' out)
}
door
code "URLs are put at the door" 0 "$A" frontier -p "$PORT" PutURLs -f seeds
kill -9 "$pid"
wait "$pid" 2>/dev/null
code "rebuild without a WARC file" 0 "$A" archive reindex --rebuild --data door
has "... says what it takes over" "1 of the urlfrontier door" code.out code.err
door
"$A" frontier -p "$PORT" CountURLs --json >counted
has "... and the URLs are there" '{"value":3}' counted
kill "$pid"
wait "$pid" 2>/dev/null
"$A" crawl "$WEB/" --data numbers --quiet --max-pages 8
"$A" crawl http://127.0.0.1:9/ --data numbers --name unreached --quiet 2>/dev/null
rm numbers/archive/*.warc.gz
"$A" crawl "$WEB/page/1" --data numbers --quiet --max-pages 1 2>/dev/null
code "rebuild where captures are gone" 65 "$A" archive reindex --rebuild \
	--data numbers
"$A" crawl "$WEB/" --data numbers --json --max-pages 2 >events
same "... ids of crawls that began are kept" "$(json 'events[0]["crawl"] > 1' \
	events)" True

# --- damage ------------------------------------------------------------------------
"$A" crawl "$WEB/" --data bad --quiet --max-pages 8
sst=$(ls bad/index/*.sst | head -n 1)
head -c 4096 /dev/zero | dd of="$sst" bs=1 conv=notrunc status=none
truncate -s 4096 "$sst"
code "a damaged index is refused" 70 "$A" crawl "$WEB/page/2" --data bad --quiet
has "... with what to do" "archive reindex --rebuild --data $PWD/bad" code.err
code "... which works" 0 "$A" archive reindex --rebuild --data bad
has "... and finds the captures" "holds 8 captures of 1 crawl" code.out
rm "$(ls bad/index/MANIFEST* | head -n 1)"
code "a file of the index is gone" 70 "$A" crawl "$WEB/page/2" --data bad --quiet
has "... with what to do" "archive reindex --rebuild --data $PWD/bad" code.err
code "... which works" 0 "$A" archive reindex --rebuild --data bad
