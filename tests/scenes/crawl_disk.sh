#!/bin/bash
#
# A disk without room: the crawl waits and says so; Ctrl-C ends it; with
# room it goes on.
. "$(dirname "$0")/scene.bash"

web pages=5
full=(--set data.free_bytes_min=900TiB)

says() { soon grep -qF "$1" "$2"; }   # until a file holds a text

leave() {   # Ctrl-C
	kill -INT "$1"
	wait "$1"
}

behind "$A" crawl "$WEB/" --data d1 --json "${full[@]}" >events 2>err
check "the crawl says that it waits" says "the crawl waits: " err
has "... for what" "data.free_bytes_min" err
leave "$pid"
same "Ctrl-C ends it" $? 75
has "... and nothing was begun" "before anything was written" err
has "--json has it too" '"state":"disk_full"' events
same "... and no start that is not on the disk" "$(grep -c started events)" 0

"$A" crawl "$WEB/" --data d2 --max-time 100ms --delay 50ms --quiet
behind "$A" crawl "$WEB/" --data d2 --name half --delay 200ms >out 2>err
asked 6
kill -INT "$pid"
wait "$pid"
behind "$A" crawl --resume --name half --data d2 "${full[@]}" >out 2>err
check "so does one that goes on" says "the crawl waits: " err
leave "$pid"
same "... which can be left" $? 75
has "... with the command that goes on" "crawl --resume --name half" out
code "with room it goes on to its end" 0 "$A" crawl --resume --name half \
	--data d2
check "the archive is sound" "$A" archive check --data d2
