#!/bin/bash
#
# `argiope items`: without a daemon.
. "$(dirname "$0")/scene.bash"

# --- nothing there

code "no items to list" 66 "$A" items list --data d1
has "... is said" "argiope: there are no items in d1" code.err
same "... and nothing was made" "$(ls)" "$(printf 'code.err\ncode.out')"
code "an item that is not there" 66 "$A" items delete x --data d1
has "... is said" "x: there is no such item" code.err

# --- add, list, show

code "an item is added" 0 "$A" items add shop:1 \
	'{"title":"a, \"b\"","price":{"net":1.10}}' \
	--tag product --tag site=eu --alias EAN:1 -d d1 --json
same "... told" "$(cat code.out)" '{"id":"shop:1","effect":"new","rev":1}'
code "... twice" 0 "$A" items add shop:1 '{}' -d d1 --json
same "... it stays" "$(cat code.out)" \
	'{"id":"shop:1","effect":"skipped","rev":1}'
code "... by its alias too" 0 "$A" items add EAN:1 '{}' -d d1 --json
has "... it stays" '"skipped"' code.out
code "... unless asked" 0 "$A" items add shop:1 '{"n":2}' --upsert \
	--tag new -d d1 --json
same "... it is merged" "$(cat code.out)" \
	'{"id":"shop:1","effect":"updated","rev":2}'
code "an item without id" 0 "$A" items add -d d1 --json
same "... gets one" "$(json 'len(events[0]["id"])' code.out)" 26
code "data that is no object" 65 "$A" items add x '[]' -d d1
has "... names the field" "argiope: data: it is not an object" code.err
code "data that is no JSON" 65 "$A" items add x '{' -d d1
code "a tag that is none" 65 "$A" items add x '{}' --tag a,b -d d1
printf '%s\n' '{"id":"shop:2","tags":["product"],"data":{"title":"c"}}' \
	'{"id":"shop:3"}' 'no' '{"id":"shop:1","data":{}}' >lines
code "lines of a file" 65 "$A" items add --file lines -d d1 --json
same "... the bad ones are named" "$(cat code.out)" \
	'{"lines":4,"new":1,"skipped":1,"errors":[{"line":2,"error":"data: it is not an object"},{"line":3,"error":"it is no JSON object"}]}'
code "a file goes alone" 64 "$A" items add x --file lines -d d1

code "the items" 0 "$A" items list --prefix shop: -d d1
same "... with their tags" "$(cat code.out)" \
	"$(printf 'shop:1  new product site=eu\nshop:2  product')"
code "those with a tag" 0 "$A" items list --tag site --value eu --json -d d1
same "... as JSON" "$(json 'events[0]["aliases"]' code.out)" \
	"['shop:1', 'EAN:1']"
code "at most one" 0 "$A" items list --limit 1 --tag product -d d1
same "... is one" "$(wc -l <code.out)" 1
code "a bad date" 65 "$A" items list --since yesterday -d d1
has "... is named" "--since yesterday" code.err
code "one by its alias" 0 "$A" items show EAN:1 --json -d d1
same "... with its operations" "$(json '(events[0]["id"], events[0]["rev"],
	events[0]["operations"])' code.out)" "('shop:1', 2, [])"
code "an id with a control character" 65 "$A" items add "$(printf 'e\033[2J')" \
	'{}' -d d1
has "... is refused" "argiope: id:" code.err

# --- set, tags, delete

code "data is patched" 0 "$A" items set shop:1 '{"n":null,"m":[1]}' --json -d d1
same "... as RFC 7396 says" "$(json 'sorted(events[0]["data"])' code.out)" \
	"['m', 'price', 'title']"
code "a patch that is none" 65 "$A" items set shop:1 '[]' -d d1
code "tags change" 0 "$A" items tags shop:1 site=us extra --remove new --json \
	-d d1
same "... at once" "$(json '[(t["name"], t["value"])
	for t in events[0]["tags"]]' code.out)" \
	"[('extra', None), ('product', None), ('site', 'us')]"
code "no change" 64 "$A" items tags shop:1 -d d1
code "all tags" 0 "$A" items tags -d d1
has "... with their counts" "2         product" code.out
code "deleted" 0 "$A" items delete EAN:1 -d d1 --json
same "... by any name" "$(cat code.out)" '{"id":"shop:1","effect":"deleted"}'
code "... and gone" 66 "$A" items show EAN:1 -d d1

# --- tasks

code "a worklist" 0 "$A" items worklist product -d d1
same "... is empty without tasks" "$(wc -c <code.out)" 0
code "of no tag" 66 "$A" items worklist none -d d1
code "failures" 0 "$A" items failures -d d1
same "... there are none" "$(wc -c <code.out)" 0
code "groups of no task" 64 "$A" items failures --group -d d1
code "to handle none" 66 "$A" items handle 5 -d d1
code "... of no task" 66 "$A" items handle none -d d1

# --- check, export, import

code "the store is checked" 0 "$A" items check -d d1
has "... and sound" " 0 differences" code.out
code "exported" 0 "$A" items export all.ndjson -d d1
code "... not over a file" 73 "$A" items export all.ndjson -d d1
code "imported" 0 "$A" items import all.ndjson -d d2 --json
same "... all rows" "$(json 'events[0]["rows"]' code.out)" \
	"$(($(wc -l <all.ndjson) - 2))"
"$A" items export -d d2 >again.ndjson
check "... are the same" cmp all.ndjson again.ndjson
code "... once" 69 "$A" items import all.ndjson -d d2
has "... is said" "already" code.err
code "... and sound" 0 "$A" items check -d d2
head -n -1 all.ndjson >cut.ndjson
code "one that was cut off" 65 "$A" items import cut.ndjson -d d3
has "... is found out" "its end is missing" code.err
"$A" items add t:1 '{"title":"a, \"b\"","price":{"net":1.10}}' -d d2 >/dev/null
code "a table" 0 "$A" items export --csv --fields id,title,price.net \
	--prefix t: -d d2
same "... as RFC 4180 says" "$(tr -d '\r' <code.out)" \
	"$(printf 'id,title,price.net\nt:1,"a, ""b""",1.1')"
code "fields without a table" 64 "$A" items export --fields id -d d2

# --- beside a daemon: its items door is asked

daemon d2
port=$(sed -n 's/.*\(http:.*\)/\1/p' out)
key=$(sed -n 's/.*"key":"\([^"]*\)".*/\1/p' d2/serve.json)
if curl -sf -o /dev/null -H "Authorization: Bearer $key" "${port}items"; then
	code "added beside it" 0 "$A" items add add '{"k":1}' --tag new -d d2 --json
	same "... with the same answer" "$(cat code.out)" \
		'{"id":"add","effect":"new","rev":1}'
	code "... merged" 0 "$A" items add add '{"l":2}' --upsert -d d2 --json
	same "... too" "$(cat code.out)" '{"id":"add","effect":"updated","rev":2}'
	code "... patched" 0 "$A" items set add '{"k":null}' -d d2 --json
	same "... too" "$(json 'events[0]["data"]' code.out)" "{'l': 2}"
	code "... tagged" 0 "$A" items tags add site=eu --remove new -d d2 --json
	same "... too" "$(json '[t["name"] for t in events[0]["tags"]]' \
		code.out)" "['site']"
	code "... read at once" 0 "$A" items show add -d d2 --json
	code "... lines of a file" 65 "$A" items add --file lines -d d2 --json
	has "... told" '"lines":4,"new":1,"skipped":1' code.out
	code "... no failure" 66 "$A" items handle 5 -d d2
	code "... bad data" 65 "$A" items add z '[]' -d d2
	has "... told" "argiope: data: it is not an object" code.err
	code "... deleted" 0 "$A" items delete add -d d2
	code "... gone" 66 "$A" items delete add -d d2
	code "... checked" 0 "$A" items check -d d2
	code "no import beside it" 75 "$A" items import all.ndjson -d d2
else
	echo "skip beside a daemon: it has no items door"
fi
kill "$pid"
wait "$pid" 2>/dev/null

# --- beside a crawl: it has no port

web pages=3
behind "$A" crawl "$WEB/" --data d2 --delay 30 --quiet >crawl.out 2>&1
soon grep -q "$pid" d2/lock
code "who holds the data" 75 "$A" items add y -d d2
has "... is named" "process $pid holds" code.err
code "... reading goes on" 0 "$A" items list -d d2
code "... an import does not" 75 "$A" items import all.ndjson -d d2
kill "$pid"
wait "$pid" 2>/dev/null || true
