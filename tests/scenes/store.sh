#!/bin/bash
#
# The store on PostgreSQL: `argiope store copy`, commands and daemons that share
# it, and a server that is killed.
. "$(dirname "$0")/scene.bash"
. "$HERE/postgresql.bash"

check "a server" postgresql
url="postgresql://argiope@/postgres?host=$PG"
on=(--set "store.url=$url")
web pages=1

# --- a copy

code "no store to copy" 66 "$A" store copy "$url" --data d1
"$A" token add ci --data d1 --scope '*:read' >ci
echo '{"rate_limit":0}' >quick.json
"$A" policy put quick quick.json --data d1
"$A" schedule put later "$WEB/" --policy quick --data d1 \
	--start-at 2031-05-06T07:08:09Z >code.out 2>&1
code "a store is copied" 0 "$A" store copy "$url" --data d1
has "... whole" "copied: 1 policies, 1 schedules, 1 tokens" code.out
has "... and to be set" "store.url = \"$url\"" code.out
code "... not twice" 73 "$A" store copy "$url" --data d1
has "... since something is there" "1 policies, 1 schedules, 1 tokens, " \
	code.err
code "... not to anywhere" 64 "$A" store copy mysql://x --data d1
code "tokens of the copy" 0 "$A" token list "${on[@]}" --data d2
has "... are listed" "ci" code.out
"$A" schedule list "${on[@]}" --data d2 >code.out 2>&1
has "... and its schedule" "2031-05-06T07:08:09Z      0  1 days" code.out
check "... which made no directory" test ! -e d2/store.db
code "back" 0 "$A" store copy sqlite:back "${on[@]}" --data d2 --json
same "... whole" "$(cat code.out)" '{"policies":1,"schedules":1,"tokens":1,"harvests":0,"credentials":0}'
same "... tokens" "$("$A" token list --data back --json)" \
	"$("$A" token list --data d1 --json)"

# --- what is refused

code "a password in the URL" 78 "$A" token list --data d2 \
	--set "store.url=postgresql://argiope:s3cret@/postgres?host=$PG"
has "... names the setting" "store.url" code.err
check "... and is not shown" bash -c '! grep -r s3cret code.out code.err'
echo s3cret >password
chmod 644 password
code "a password that others may read" 78 "$A" token list "${on[@]}" \
	--data d2 --set store.password_file=password
has "... names the setting" "store.password_file: password" code.err
check "... and is not shown" bash -c '! grep -r s3cret code.out code.err'
code "a server that is not there" 69 "$A" token list --data d2 \
	--set store.url=postgresql://argiope@/postgres?host=/nonexistent
code "no daemon starts there" 69 "$A" serve --data d3 \
	--set store.url=postgresql://argiope@/postgres?host=/nonexistent

# --- two daemons

# node NAME: a daemon of that name: NAME.out, NAME.log, its port in $port
node() {
	behind "$A" serve --data "$1" "${on[@]}" --set "store.node=$1" \
		--set http.listen=127.0.0.1:0 --set realtime.token=required \
		--set fetch.allow_private=on >"$1.out" 2>"$1.log"
	soon grep -q "serves http" "$1.out"
	port=$(sed -n 's/^argiope serves http/http/p' "$1.out" | head -n 1)
}
node n1
port1=$port pid1=$pid
node n2
port2=$port

# opens PORT TOKEN CODE: what the port answers to the token
opens() {
	[ "$(curl -s -o metrics -w '%{http_code}' \
		-H "Authorization: Bearer $2" "$1metrics")" = "$3" ]
}
"$A" token add both "${on[@]}" --data d2 --scope '*:read' >both
check "a token opens the one" soon opens "$port1" "$(cat both)" 200
check "... and the other" soon opens "$port2" "$(cat both)" 200
code "revoked" 0 "$A" token revoke both "${on[@]}" --data d2
check "... it opens neither" soon opens "$port1" "$(cat both)" 401
check "... nor the other" soon opens "$port2" "$(cat both)" 401

# runs N: until the schedules have run so often, all together
runs() { soon counted "$1"; }
counted() {
	"$A" schedule list "${on[@]}" --data d2 --json >list
	[ "$(json 'sum(s["runs"] for s in events[0]["schedules"])' list)" = \
		"$1" ]
}
for i in 1 2 3 4 5 6; do
	"$A" schedule put "s$i" "$WEB/" --policy quick --every 10000 \
		"${on[@]}" --data d2 >code.out 2>&1
done
check "schedules run" runs 6
sleep 1.5
same "... each once, here or there" \
	"$(cat n1.log n2.log | grep -o 'schedule.started schedule=[0-9]*' |
		sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" \
	"1 1 1 1 1 1 "
check "... and no more" counted 6

# --- the server is killed

"$A" token add stays "${on[@]}" --data d2 --scope '*:read' >stays
check "a token" soon opens "$port1" "$(cat stays)" 200
# waits A: the schedule "after" has no next date; A is True or False
waits() {
	"$A" schedule list "${on[@]}" --data d2 --json >list &&
		[ "$(json '[s["next_at"] is None for s in events[0]["schedules"]
			if s["name"] == "after"]' list)" = "[$1]" ]
}
"$A" schedule put after "$WEB/" --policy quick --rate-limit 1 --every 1 \
	--after-previous "${on[@]}" --data d2 >code.out 2>&1
check "a schedule waits for its crawl" soon waits True
postgresql_kill
code "no server, no command" 69 "$A" token list "${on[@]}" --data d2
check "the daemon lives" curl -sf -o /dev/null "${port1}healthz"
check "... and knows its tokens" opens "$port1" "$(cat stays)" 200
# Each request fails; the log has a line each second at most.
began=$SECONDS
for _ in $(seq 40); do
	curl -s -o /dev/null -w '%{http_code}\n' "${port1}items?limit=1" \
		-H "Authorization: Bearer $(cat stays)"
done | sort | uniq -c | xargs >answers
same "... whose items are not to be had" "$(cat answers)" "40 503"
failed=$(grep -c items.failed n1.log)
check "... which its log says ($failed)" [ "$failed" -ge 1 ]
check "... but not for each request" [ "$failed" -le \
	$((SECONDS - began + 2)) ]
ended() {
	"$A" status --data n1 --json >s1 && "$A" status --data n2 --json >s2 &&
		[ "$(cat s1 s2 | grep -c '"running"')" = 0 ]
}
check "its crawl ends meanwhile" soon ended
check "the server is back" postgresql_start
check "... and hears of it" soon waits False
code "nothing is lost" 0 "$A" token list "${on[@]}" --data d2
has "... of what was acknowledged" stays code.out
"$A" token add late "${on[@]}" --data d2 --scope '*:read' >late
check "the daemons go on" soon opens "$port1" "$(cat late)" 200
check "... both" soon opens "$port2" "$(cat late)" 200
"$A" schedule put again "$WEB/" --policy quick --every 10000 "${on[@]}" \
	--data d2 >code.out 2>&1
check "... with schedules" runs 8

# --- a backup

code "a backup" 0 "$A" backup saved --data d2 "${on[@]}" --json
has "... says who copies the database" pg_dump code.err
has "... also as JSON" '"store_outside":true' code.out
kill -TERM "$pid1"
wait "$pid1"
same "the daemon ends in order" $? 0
