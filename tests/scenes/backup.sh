#!/bin/bash
#
# `argiope backup`: of a directory at rest, of a running daemon in the middle of
# its work, and what is left of one that is killed.
. "$(dirname "$0")/scene.bash"

web pages=3000 delay=0.002

key() { sed 's/.*"key":"\([^"]*\)".*/\1/' "$1/serve.json"; }
# status NAME DATA EXPRESSION: of the first crawl
crawl_of() {
	"$A" status --data "$1" --json >crawl.json 2>/dev/null
	json "events[0]['crawls'][0]$2" crawl.json
}
# sound DATA: every capture has its own number, and each file is whole
sound() {
	"$A" archive check --data "$1" >sound.out 2>&1 || return 1
	"$A" archive ls --data "$1" --json >ls.json || return 1
	[ "$(json 'len(events) - len({(e["crawl"], e["seq"]) for e in events
		if e.get("seq")}) - sum(not e.get("seq") for e in events)' \
		ls.json)" = 0 ]
}

# --- at rest ----------------------------------------------------------------
code "no data directory" 66 "$A" backup b0 --data nowhere
"$A" crawl "$WEB/" --data d1 --max-pages 60 --quiet
"$A" token add t1 --scope '*:read' --data d1 >/dev/null
"$A" policy put mine - --data d1 <<<'{"limits":{"max_depth":1}}' >/dev/null
echo secret >d1/secrets.key
code "a directory at rest" 0 "$A" backup b1 --data d1
has "... says how much" "files" code.out
has "... says what is not in it" "secrets.key is no part" code.err
same "... a key file is not" "$(grep -rl secret b1 | wc -l)" 0
file=$(cd d1 && ls archive/*.warc.gz | head -n 1)
same "... WARC files are linked" "$(stat -c %i "d1/$file")" \
	"$(stat -c %i "b1/data/$file")"
code "not over another one" 73 "$A" backup b1 --data d1
code "not into itself" 64 "$A" backup d1/b --data d1
code "not into a directory with crawls" 73 "$A" backup --restore b1 --data d1
rm d1/secrets.key
all=$(crawl_of d1 "['counts']['items']")
mv d1 gone
code "restored" 0 "$A" backup --restore b1 --data d1
same "... with all its captures" "$(crawl_of d1 "['counts']['items']")" "$all"
check "... which are sound" sound d1
"$A" token list --data d1 >tokens
has "... with its tokens" "t1" tokens
"$A" policy get mine --data d1 >policy
has "... with its policies" '"max_depth":1' policy
same "... not as second names of the backup's files" \
	"$([ "$(stat -c %i "d1/$file")" = "$(stat -c %i "b1/data/$file")" ] &&
	echo linked)" ""
code "restored beside the original" 0 "$A" backup --restore b1 --data d2
check "... sound there too" sound d2
same "... in its own archive" "$("$A" crawl "$WEB/" --data d2 --max-pages 5 \
	--json --quiet 2>/dev/null | grep -c "$PWD/d2/archive")" 2
code "the crawl can go on beside it" 0 "$A" crawl "$WEB/" --data d1 \
	--max-pages 5 --quiet

# --- what is half, or damaged -----------------------------------------------
cp -r b1 half
rm half/backup.json
code "half a backup is refused" 66 "$A" backup --restore half --data r1
has "... with the reason" "no finished backup" code.err
cp -r b1 short
truncate -s -1 "short/data/$file"
code "a file that is short is found" 70 "$A" backup --restore short --data r1
has "... and named" "$file" code.err
rm "short/data/$file"
code "one that is missing too" 70 "$A" backup --restore short --data r1
sed -i "s#\"path\":\"$file\"#\"path\":\"../../../x\"#" short/backup.json
code "a list that leads out of it" 70 "$A" backup --restore short --data r1
same "none of them wrote anything" "$(ls r1 2>/dev/null | wc -l)" 0
mkdir r2
: >r2/restoring
for verb in "status" "crawl $WEB/" "serve" "token list" "backup b9"; do
	: >r2/store.db
	# shellcheck disable=SC2086
	code "half a restore is refused: $verb" 70 "$A" $verb --data r2
	has "... with what to do" "backup --restore" code.err
done

# --- of a daemon that works -------------------------------------------------
daemon d3 --set fetch.allow_private=on --set warc.rollover_bytes=200000
serving=$pid
code "a crawl" 0 "$A" crawl "$WEB/" --data d3 --submit --name big
code "an item" 0 "$A" items add kept:1 '{"n":1}' --data d3
: >"$WEB_LOG"
asked 100
for i in 1 2 3; do
	code "backup $i beside the crawl" 0 "$A" backup "b3-$i" --data d3
	asked $((100 + 200 * i))
done
same "nothing is left of the work" "$(ls d3/backup)" "lock"
same "no part of it is unknown" "$(cat code.err)" ""
same "the crawl goes on" "$(crawl_of d3 "['state']")" running
code "to a port that takes no commands" 75 env \
	ARGIOPE_DATA_DIR=d3 bash -c "mv d3/serve.json s.json; \"$A\" backup b4;
	r=\$?; mv s.json d3/serve.json; exit \$r"
kill -TERM "$serving"
wait "$serving"
check "the original is sound" sound d3
all=$(crawl_of d3 "['counts']['items']")
mv d3 gone3
for i in 1 2 3; do
	code "backup $i is restored" 0 "$A" backup --restore "b3-$i" --data d3
	"$A" status --data d3 --set log.level=info >/dev/null 2>first.log
	same "... not a byte is behind what is committed" \
		"$(grep -c ledger.cut first.log)" 0
	"$A" items list --data d3 --json >items.json
	has "... with its item" '"id":"kept:1"' items.json
	n=$(crawl_of d3 "['counts']['items']")
	check "... with captures, fewer than at the end" \
		test "$n" -gt 0 -a "$n" -lt "$all"
	check "... which are sound" sound d3
	same "... as many as are reported" "$(json \
		'sum(1 for e in events if e.get("seq"))' ls.json)" "$n"
	same "... in no quarantine" "$(find d3 -path '*quarantine*' | wc -l)" 0
	[ "$i" = 3 ] || rm -r d3
done
daemon d3 --set fetch.allow_private=on --set warc.rollover_bytes=200000
: >"$WEB_LOG"
asked 200
pass "the restored crawl goes on"
kill -TERM "$pid"
wait "$pid"
check "... and stays sound" sound d3

# --- kills ------------------------------------------------------------------
# The backup, the daemon in the middle of one, the restore: at any moment.
daemon d3 --set fetch.allow_private=on --set warc.rollover_bytes=200000
finished=0
for i in $(seq 12); do
	"$A" backup "k$i" --data d3 >/dev/null 2>&1 &
	backup=$!
	sleep "0.0$((RANDOM % 9))$((RANDOM % 9))"
	if [ $((i % 3)) = 0 ]; then
		kill -9 "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	fi
	[ $((i % 3)) = 0 ] || kill -9 "$backup" 2>/dev/null
	wait "$backup" 2>/dev/null
	[ $((i % 3)) != 0 ] || daemon d3 --set fetch.allow_private=on \
		--set warc.rollover_bytes=200000
	if [ -e "k$i/backup.json" ]; then
		finished=$((finished + 1))
		"$A" backup --restore "k$i" --data "rk$i" >/dev/null 2>&1 ||
			fail "finished backup $i cannot be restored"
	elif "$A" backup --restore "k$i" --data "rk$i" >/dev/null 2>&1; then
		fail "half a backup $i was restored"
	fi
done
pass "12 backups and daemons were killed, $finished backups were finished"
code "the next backup is made" 0 "$A" backup k99 --data d3
kill -TERM "$pid"
wait "$pid"
check "the original is sound" sound d3
mv d3 gone4
for i in $(seq 8); do
	"$A" backup --restore k99 --data d3 >/dev/null 2>&1 &
	restore=$!
	sleep "0.0$((RANDOM % 5))"
	kill -9 "$restore" 2>/dev/null
	wait "$restore" 2>/dev/null
	if [ -e d3/restoring ]; then
		"$A" status --data d3 >/dev/null 2>&1 &&
			fail "half a restore was opened"
	elif [ -e d3/index ]; then
		sound d3 || fail "a restore that seems whole is not sound"
	fi
	rm -rf d3
done
pass "8 restores were killed"
code "the next restore works" 0 "$A" backup --restore k99 --data d3
check "... and is sound" sound d3
