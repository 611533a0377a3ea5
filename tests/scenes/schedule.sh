#!/bin/bash
#
# `argiope policy` and `argiope schedule`: without a daemon and beside one, which
# starts what is due.
. "$(dirname "$0")/scene.bash"

web pages=5

# --- without a daemon

code "policies of nothing" 0 "$A" policy list --data d1
has "... are the built-in one" "built in              default" code.out
code "... which can be printed" 0 "$A" policy get default --data d1
has "... as the contract has it" '"limits":{"max_cost":null,"max_depth":3,' \
	code.out
cp code.out default.json
code "no other" 66 "$A" policy get quick --data d1
has "... is said" "there is no policy quick in d1" code.err
code "nothing to delete" 66 "$A" policy delete quick --data d1
code "no schedules" 0 "$A" schedule list --data d1
has "... is said" "There is no schedule in d1." code.out
same "... as JSON" "$("$A" schedule list --data d1 --json)" '{"schedules":[]}'
code "no schedule to delete" 66 "$A" schedule delete 1 --data d1
check "nothing of all that made a directory" test ! -e d1

echo '{"rate_limit":0,"limits":{"max_depth":1}}' >quick.json
code "a policy is put" 0 "$A" policy put quick quick.json --data d1
"$A" policy get quick --data d1 >code.out
has "... and kept whole" '"rate_limit":0,"headers":{}' code.out
echo '{"url_rules":[{"pattern":"("},{}]}' >bad.json
code "one that is none" 65 "$A" policy put bad bad.json --data d2
has "... is refused with the place" "url_rules[0].pattern" code.err
check "... before a store is made" test ! -e d2
code "a file that is not there" 66 "$A" policy put bad nowhere --data d1
code "a policy from standard input" 0 "$A" policy put default - --data d1 \
	<default.json
same "two are listed" "$("$A" policy list --data d1 | wc -l)" 2
same "... as JSON" "$("$A" policy list --data d1 --json | grep -o \
	'"name":"[a-z]*"' | tr '\n' ' ')" '"name":"default" "name":"quick" '
code "default stays" 69 "$A" policy delete default --data d1

code "a schedule without a seed" 64 "$A" schedule put news --data d1
code "one whose seed is none" 65 "$A" schedule put news ftp://a.org/ --data d1
has "... names it" "seeds[0].url" code.err
code "one with a password" 64 "$A" schedule put news http://u:p@a.org/ \
	--data d1
code "one of no policy" 66 "$A" schedule put news "$WEB/" --policy slow \
	--data d1
code "one of two policies" 64 "$A" schedule put news "$WEB/" --policy quick \
	--policy-file quick.json --data d1
code "a date that is none" 64 "$A" schedule put news "$WEB/" --start-at now \
	--data d1
code "a schedule for later" 0 "$A" schedule put news "$WEB/" --data d1 \
	--policy quick --every 6 --unit hours --tag a --tag b --rate-limit 0 \
	--after-previous --start-at 2031-05-06T07:08:09Z
same "... has a number" "$(cat code.out)" 1
"$A" schedule list --data d1 >list
has "... and is listed" \
	"   1  2031-05-06T07:08:09Z      0  6 hours         news" list
"$A" schedule list --data d1 --json >list
same "... as JSON" "$(json '[(s["id"], s["policy"], s["tags"], s["every"],
	s["unit"], s["timing"], s["last_crawl"])
	for s in events[0]["schedules"]]' list)" \
	"[(1, 'quick', ['a', 'b'], 6, 'hours', 'after_previous', None)]"
code "its policy stays" 69 "$A" policy delete quick --data d1

# --- beside a daemon

daemon d1 --set fetch.allow_private=on
# status EXPRESSION WANT: until it is so
status() {
	local i
	for ((i = 0; i < 100; i++)); do
		"$A" status --data d1 --json >status.json
		[ "$(json "$1" status.json)" != "$2" ] || return 0
		sleep 0.1
	done
	json "$1" status.json
	return 1
}
check "nothing is due" status 'len(events[0]["crawls"])' 0
code "it is put for now" 0 "$A" schedule put news "$WEB/" --data d1 --id 1 \
	--policy quick --crawl-name 'run {COUNT}'
check "... and the daemon crawls" status \
	'[(c["name"], c["state"], c["counts"]["items"])
	for c in events[0]["crawls"]]' "[('run 1', 'complete', 7)]"
"$A" schedule list --data d1 --json >list
same "... which the schedule knows" "$(json '[(s["runs"], s["last_crawl"])
	for s in events[0]["schedules"]]' list)" "[(1, 0)]"
has "... and the log" "schedule.started schedule=1 crawl=0" log
code "a second schedule" 0 "$A" schedule put slow "$WEB/deep/1" --data d1 \
	--policy-file quick.json --unit weeks
same "... has another number" "$(cat code.out)" 2
check "... and a crawl" status 'len(events[0]["crawls"])' 2
check "... which ends" status 'events[0]["crawls"][-1]["state"]' complete
same "each schedule's crawls have WARC files of their own" \
	"$(ls d1/archive | tr '\n' ' ')" "schedule-1 schedule-2 "
code "deleted" 0 "$A" schedule delete 1 --data d1
code "... and gone" 66 "$A" schedule delete 1 --data d1
kill -TERM "$pid"
wait "$pid"
same "the daemon ends in order" $? 0
code "its crawls stay" 0 "$A" status --data d1
has "... under their names" "run 1" code.out
code "what they captured can be listed" 0 "$A" archive ls --data d1
has "... all of it" "/deep/1" code.out

# --- the data is lost, a file was being written; the WARC files tell all

file=$(ls d1/archive/schedule-2/*.warc.gz)
mkdir -p d1/archive/schedule-2/.argiope/crawl-1
mv "$file" "d1/archive/schedule-2/.argiope/crawl-1/${file##*/}.open"
rm -f d1/archive/schedule-2/*.cdxj
before=$(pages_of d1 | wc -l)
rm -rf d1/index d1/log
code "rebuilt from the crawls' own directories" 0 \
	"$A" archive reindex --rebuild --data d1
has "... both" "of 2 crawls" code.out
check "... and the file has its name" test -s "$file"
"$A" status --data d1 --json >status.json
same "... each crawl knows where its files are" "$(json \
	'[c["warc_dir"].split("/")[-1] for c in events[0]["crawls"]]' \
	status.json)" "['schedule-1', 'schedule-2']"
check "... and nothing is missing" test "$(pages_of d1 | wc -l)" -ge "$before"

# --- a crawl in its middle: what the door may not, it still may not

kill "$WEB_PID"
web pages=200 delay=0.1
daemon d3 --set fetch.allow_private=on
code "a long crawl" 0 "$A" schedule put long "$WEB/" --data d3 \
	--policy-file quick.json --unit weeks
asked() { [ "$(wc -l <"$WEB_LOG")" -ge "$1" ]; }
soon asked 20
kill -KILL "$pid"
wait "$pid" 2>/dev/null
rm -rf d3/index d3/log
code "... killed, and rebuilt" 0 "$A" archive reindex --rebuild --data d3
"$A" status --data d3 --json >status.json
same "... it is not over" "$(json \
	'(events[0]["crawls"][0]["state"],
	events[0]["crawls"][0]["counts"]["queued"] > 0)' status.json)" \
	"('interrupted', True)"
: >"$WEB_LOG"
daemon d3
status() {
	"$A" status --data d3 --json >status.json
	[ "$(json 'events[0]["crawls"][0]["state"]' status.json)" = complete ]
}
check "... goes on" soon status
same "... but not to private addresses" "$(wc -l <"$WEB_LOG")" 0
