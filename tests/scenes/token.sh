#!/bin/bash
#
# `argiope token`: add, list and revoke, without a daemon and beside one.
. "$(dirname "$0")/scene.bash"

# tokens N: until the daemon has so many
tokens() {
	local i
	for ((i = 0; i < 100; i++)); do
		curl -s -H "Authorization: Bearer $key" "${port}metrics" >metrics
		! grep -q "^argiope_doors_tokens $1\$" metrics || return 0
		sleep 0.1
	done
	grep argiope_doors metrics
	return 1
}

# --- without a daemon

code "nothing to list" 0 "$A" token list --data d1
has "... is said" "There is no token in d1." code.out
same "... and nothing was made" "$(ls)" "$(printf 'code.err\ncode.out')"
same "... as JSON" "$("$A" token list --data d1 --json)" '{"tokens":[]}'
code "nothing to revoke" 66 "$A" token revoke ci --data d1
same "... makes nothing" "$(ls)" "$(printf 'code.err\ncode.out')"

code "a token is made" 0 "$A" token add ci --data d1 \
	--scope urlfrontier:write,items:read
cp code.out ci
same "... and printed, nothing else" \
	"$(grep -cxE 'argiope_[0-9a-f]{64}' ci) $(wc -l <ci)" "1 1"
same "... quietly" "$(wc -c <code.err)" 0
code "another" 0 "$A" token add all -d d1 -s '*:read' -s console:write
cp code.out all
check "... is another" bash -c '! cmp -s ci all'
same "the store is its owner's" "$(stat -c %a d1/store.db)" 600

"$A" token list --data d1 >list
same "listed by name" "$(awk 'NR > 1 { print $1, $3, $4 }' list)" \
	"$(printf 'all never *:read,console:write\nci never %s' \
	urlfrontier:write,items:read)"
"$A" token list --data d1 --json >list.json
same "... as JSON" "$(json '[(t["id"], t["name"], t["scopes"], t["used"])
	for t in events[0]["tokens"]]' list.json)" \
	"[(2, 'all', ['*:read', 'console:write'], None), (1, 'ci', \
['urlfrontier:write', 'items:read'], None)]"
same "... with dates" "$(json '[len(t["created"]) for t in
	events[0]["tokens"]]' list.json)" "[20, 20]"
check "no token is in a file" bash -c \
	'! grep -rqaF -e "$(cut -c 9-40 ci)" -e "$(cut -c 41- ci)" d1'
code "list takes no word" 64 "$A" token list ci --data d1

# --- mistakes

code "a name that is taken" 73 "$A" token add ci --data d1 --scope '*:read'
has "... is said" 'argiope: there is a token "ci" already' code.err
same "... and no token printed" "$(wc -c <code.out)" 0
code "no scope" 64 "$A" token add new --data d1
has "... is asked for" "--scope urlfrontier:write" code.err
code "a scope that is none" 64 "$A" token add new --data d1 --scope frontier:read
has "... with those that are" "urlfrontier, realtime, harvest" code.err
code "an access that is none" 64 "$A" token add new --data d1 --scope items:all
code "an empty scope" 64 "$A" token add new --data d1 --scope ''
code "a name that is none" 65 "$A" token add 'a b' --data d1 --scope '*:read'
long=$(printf 'n%.0s' {1..64})
code "a name of 64 bytes" 0 "$A" token add "$long" --data d1 --scope '*:read'
code "a name of 65 bytes" 65 "$A" token add "n$long" --data d1 --scope '*:read'
code "a family without its verb" 64 "$A" token
"$A" token add lost --data d1 --scope '*:read' >/dev/full 2>full.err
same "a token that cannot be printed" $? 74
same "... is said once" "$(wc -l <full.err)" 1
"$A" token list --data d1 >list
same "... and is none" "$(grep -c lost list)" 0

code "revoked" 0 "$A" token revoke "$long" --data d1
code "revoked already" 66 "$A" token revoke "$long" --data d1
has "... is said" "argiope: there is no token" code.err

# --- beside a daemon

daemon d1 --set urlfrontier.listen=127.0.0.1:0
port=$(sed -n 's/.*\(http:.*\)/\1/p' out)
door=$(sed -n 's/.*urlfrontier .*://p' out)
# door FILE VERB...: ask the urlfrontier door with the token of the file
door() {
	"$A" frontier -t 127.0.0.1 -p "$door" ${1:+--token-file "$1"} "${@:2}"
}
# status PATH [HEADER]: of the answer
status() {
	curl -s -o /dev/null -w '%{http_code}' ${2:+-H "$2"} "$port$1"
}
key=$(sed -n 's/.*"key":"\([^"]*\)".*/\1/p' d1/serve.json)
same "the daemon's key is for its own user" "$(stat -c %a d1/serve.json)" 600
check "the daemon has the tokens" tokens 2
code "the door opens to a token that may write" 0 door ci SetActive true
code "... and to one that may read" 0 door all GetStats
code "... which may not write" 1 door all SetActive true
has "... is said" PERMISSION_DENIED code.err
code "without a token it is shut" 1 door "" GetStats
has "... is said" UNAUTHENTICATED code.err
tr 0-9 1-90 <ci >wrong
code "to a token that is none too" 1 door wrong GetStats
has "... is said" "the token is not known here" code.err
for path in status metrics; do
	same "/$path wants a token" "$(status $path)" 401
	same "... of the console" \
		"$(status $path "Authorization: Bearer $(cat ci)")" 403
	same "... and takes it" \
		"$(status $path "Authorization: Bearer $(cat all)")" 200
done
same "/healthz wants none" "$(status healthz)" 200
code "argiope status wants none" 0 "$A" status --data d1
has "... and is answered by the daemon" "no crawl is running" code.out
code "a token is made beside it" 0 "$A" token add more --data d1 \
	--scope urlfrontier:read
cp code.out more
check "... and the daemon knows it" tokens 3
code "... and the door opens" 0 door more GetStats
code "revoked beside it" 0 "$A" token revoke more --data d1
check "... and the daemon knows that" tokens 2
code "... and the door is shut" 1 door more GetStats
code "listed beside it" 0 "$A" token list --data d1
has "... as without it" "ci " code.out
code "the last one for some doors" 0 "$A" token revoke all --data d1
has "... is told of" "no token is left for realtime, harvest, external, console" \
	code.err
code "the last of all" 0 "$A" token revoke ci --data d1
check "... is gone" tokens 0
code "... and the door does not fall open" 1 door "" GetStats
has "refusals are counted" 'argiope_doors_refused_total{door="urlfrontier"}' \
	metrics
has "... and told" "token.refused door=urlfrontier" log
kill -TERM "$pid"
wait "$pid"
same "the daemon ends in order" $? 0
check "no token is in its log" bash -c \
	'! grep -qF -e "$(cut -c 9- ci)" -e "$(cut -c 9- wrong)" \
	-e "$0" log out' "${key#argiope_}"

# --- many at once: none is lost, and the first that come make the store

pids=()
for ((i = 0; i < 8; i++)); do
	"$A" token add "n$i" --data d2 --scope items:read >"new.$i" 2>"err.$i" &
	pids+=("$!")
done
failed=0
for i in "${pids[@]}"; do
	wait "$i" || failed=$((failed + 1))
done
same "eight at once" "$failed" 0
[ "$failed" = 0 ] || cat err.*
"$A" token list --data d2 >list
same "... are eight" "$(wc -l <list)" 9
same "... and all different" "$(cat new.* | sort -u | wc -l)" 8
