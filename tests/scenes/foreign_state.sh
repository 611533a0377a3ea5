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
has "... and why" "is a copy of $PWD/own, which is still there" code.err
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
