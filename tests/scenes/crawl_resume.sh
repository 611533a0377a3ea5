#!/bin/bash
#
# A crawl that is broken off goes on: after Ctrl-C by the command that it
# printed, after kill -9 by --resume; nothing is lost, nothing is there twice.
. "$(dirname "$0")/scene.bash"

web pages=60 delay=0.01

"$A" crawl "$WEB/" --data whole --quiet
pages_of whole >want
same "an unbroken crawl" "$(wc -l <want)" 69

# --- Ctrl-C --------------------------------------------------------------------
: >"$WEB_LOG"
behind "$A" crawl "$WEB/" --data broken --name "a b" --delay 50ms >out 2>err
asked 10
code "meanwhile the data is in use" 75 "$A" crawl "$WEB/" --data broken
has "... by that process" "process $pid" code.err
code "status says so too" 75 "$A" status --data broken
has "... naming it" "process $pid" code.err
kill -INT "$pid"
wait "$pid"
same "Ctrl-C has its exit code" $? 75
has "it can go on" "was interrupted and can go on" out
"$A" status --data broken >status
has "status: nobody runs it any more" "interrupted" status
command=$(sed -n 's/^To go on: //p' out)
has "the command is printed" "--resume --name 'a b'" out
eval "$command --json" >events
same "the command goes on" $? 0
same "the rest is fetched" "$(json 'events[-1]["counts"]["items"]' events)" 69
pages_of broken >got
check "all pages are there, once" diff want got
check "the archive is sound" "$A" archive check --data broken --strict

# --- kill -9 ---------------------------------------------------------------------
for round in 1 2 3; do
	: >"$WEB_LOG"
	behind "$A" crawl "$WEB/" --data "killed$round" --json >"events$round"
	asked $((round * 15))
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	# The last line may be cut by the kill.
	sed -i '$ { /}$/! d }' "events$round"
	"$A" crawl --resume --data "killed$round" --json >events
	same "round $round goes on" $? 0
	same "... to the end" "$(json 'events[-1]["counts"]["items"]' events)" 69
	pages_of "killed$round" >got
	check "... all pages are there, once" diff want got
	check "... the archive is sound" "$A" archive check \
		--data "killed$round" --strict
	cat "events$round" events >both
	same "... numbers have no gap and no repeat" "$(json '(lambda s:
		len(s) == len(set(s)) and set(s) <= set(range(1, 70)))(
		[e["seq"] for e in events if e["event"] == "item"])' both)" True
done

# --- a proxy that only the command line knew ---------------------------------------
echo http://127.0.0.1:9 >proxy
behind "$A" crawl "$WEB/" --data proxied --proxy-file proxy --json >events
check "a crawl by a secret proxy begins" soon grep -q started events
kill -9 "$pid"
wait "$pid" 2>/dev/null
: >"$WEB_LOG"
code "... does not go on without it" 69 "$A" crawl --resume --data proxied
has "... and says so" "--resume --proxy-file FILE" code.err
same "... nothing was asked" "$(wc -l <"$WEB_LOG")" 0

# --- what a reader finds after a kill ---------------------------------------------
behind "$A" crawl "$WEB/" --data killed --json >events
check "a crawl has captures" soon grep -q '"seq":5,' events
kill -9 "$pid"
wait "$pid" 2>/dev/null
code "status recovers it" 0 "$A" status --data killed
same "... with the CDXJ of the file that was open" \
	"$(find killed/archive -maxdepth 1 -name '*.cdxj' | wc -l)" 1
same "... and nothing half done" \
	"$(find killed/archive -name '*.open')" ""

# --- while a server is silent ----------------------------------------------------
: >"$WEB_LOG"
behind "$A" crawl "$WEB/slow" --data silent >out 2>err
asked 2
began=$SECONDS
kill -INT "$pid"
wait "$pid"
same "Ctrl-C does not wait for a silent server" \
	"$? $((SECONDS - began < 5))" "75 1"
