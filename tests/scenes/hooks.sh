#!/bin/bash
#
# The operator's commands hook.warc_finished and hook.crawl_ended: both are
# called, again after a failure, and again after a daemon was killed.
. "$(dirname "$0")/scene.bash"

web pages=8 links=3

# The command: appends its arguments to DIR/calls; fails while DIR/broken is
# there.
cat >hook.sh <<'END'
#!/bin/sh
printf '%s\n' "$*" >>"$1/calls"
if [ -e "$1/broken" ]; then
	echo "cannot reach the shelf" >&2
	exit 7
fi
END
chmod +x hook.sh
pending() { find "$1/hooks" -type f | wc -l; }
called() { grep -c "$1" calls 2>/dev/null; }
called_twice() { [ -e calls ] && [ "$(called "$1")" -ge 2 ]; }

# --- a foreground crawl waits for its hooks
code "a crawl with hooks" 0 "$A" crawl "$WEB/" --data d1 --quiet \
	--set hook.warc_finished="$PWD/hook.sh $PWD ;touch warc" \
	--set hook.crawl_ended="$PWD/hook.sh $PWD ended"
file=$(ls "$PWD"/d1/archive/*.warc.gz)
same "... calls the one for its WARC file" \
	"$(grep -cxF "$PWD ;touch warc $file" calls)" 1
same "... and the one for its end" "$(grep -cx "$PWD ended 0" calls)" 1
same "... without a shell" "$(ls warc 2>/dev/null)" ""
same "... and nothing is pending" "$(pending d1)" 0

# --- a failure is repeated by the next process
rm calls
: >broken
code "a hook's failure is not the crawl's" 0 "$A" crawl "$WEB/" --data d2 \
	--quiet --set hook.crawl_ended="$PWD/hook.sh $PWD ended"
has "... and is logged" "exit code 7: cannot reach the shelf" code.err
same "... the call stays pending" "$(pending d2)" 1
rm calls
daemon d2 --set hook.crawl_ended="$PWD/hook.sh $PWD ended"
check "a daemon repeats it" soon called_twice ended
rm broken
none_pending() { [ "$(pending d2)" = 0 ]; }
check "... until it succeeds" soon none_pending
port=$(sed -n 's/^argiope serves http/http/p' out | head -n 1)
curl -s "${port}metrics" >metrics
has "... counts the success" \
	'argiope_hook_runs_total{hook="crawl_ended",outcome="ok"} 1' metrics
has "... and what is pending" \
	'argiope_hook_pending{hook="crawl_ended"} 0' metrics
kill "$pid"
wait "$pid"

# --- a kill before a hook succeeded
rm -f calls
: >broken
daemon d3 --set fetch.allow_private=on --set hook.warc_finished="$PWD/hook.sh $PWD warc"
code "a crawl in a daemon" 0 "$A" crawl "$WEB/" --data d3 --submit
check "... its hook fails" soon called_twice warc
kill -9 "$pid"
wait "$pid" 2>/dev/null
rm calls broken
daemon d3 --set fetch.allow_private=on --set hook.warc_finished="$PWD/hook.sh $PWD warc"
none_pending() { [ "$(pending d3)" = 0 ]; }
check "after a kill it is called again" soon none_pending
same "... once, as it succeeded" \
	"$(called "$(find "$PWD/d3" -name '*.warc.gz')")" 1
check "... and the archive is sound" "$A" archive check --data d3

# --- a command's words: 64 run, 65 are refused by the setting's name
words=$(printf 'w%.0s ' $(seq 63))
code "a command of 64 words" 0 "$A" crawl "$WEB/" --data d4 --quiet \
	--max-pages 1 --set hook.crawl_ended="echo $words"
code "... of 65 is refused" 78 "$A" crawl "$WEB/" --data d5 --quiet \
	--max-pages 1 --set hook.crawl_ended="echo $words more"
has "... with the setting's name" "hook.crawl_ended has more than 64 words" \
	code.err

# --- only the operator's configuration names a command
cat >touch.sh <<END
#!/bin/sh
touch "$PWD/evil"
END
chmod +x touch.sh
daemon d6 --set fetch.allow_private=on
code "a crawl for a daemon cannot set a hook" 64 "$A" crawl "$WEB/" \
	--data d6 --submit --set hook.crawl_ended="$PWD/touch.sh"
has "... and says whose it is" "the daemon's own configuration" code.err
# Raw HTTP requests, like those of argiope's own commands.
address=$(sed -n 's/^argiope serves http/http/p' out | head -n 1)
key=$(python3 -c 'import json; print(json.load(open("d6/serve.json"))["key"])')
start() { # ARGS
	curl -s -w '%{http_code}' -H "Authorization: Bearer $key" \
		-H "Content-Type: application/json" -d '{"command":
		"start_crawl","command_id":1,"args":{"seeds":["'"$WEB"'/"]'"$1"'}}' \
		"${address}realtime/command" >answer
}
start ''
has "a client begins a crawl" 200 answer
for field in '"hook.crawl_ended":"TOUCH"' '"policy":{"hook":{"crawl_ended":"TOUCH"}}' \
	'"settings":{"hook.crawl_ended":"TOUCH"}' \
	'"policy":{"hook.crawl_ended":"TOUCH"}'; do
	start ",${field//TOUCH/$PWD/touch.sh}"
	has "... but not with ${field%%TOUCH*}" "400" answer
done
code "another crawl" 0 "$A" crawl "$WEB/" --data d6 --submit --max-pages 1
ended() { "$A" status --data d6 --json | grep -q '"state":"complete"'; }
check "... ends" soon ended
kill "$pid"
wait "$pid"
same "no hook was called" "$(find . -name evil)" ""
same "no door writes the configuration" "$(grep -rnE \
	'conf_(put|swap|file|env|flag)\(' "$HERE/../../doors" |
	grep -vE '_(testing|bench)\.c')" ""

# --- a crawl's end is called after its last file, and with a full disk
cat >order.sh <<'END'
#!/bin/sh
echo "$2 $3 $(find "$1/archive" -name '*.open' | wc -l)" >>order
END
chmod +x order.sh
rm -f order
for i in 1 2 3 4 5 6; do
	rm -rf d7
	"$A" crawl "$WEB/" --data d7 --quiet \
		--set hook.warc_finished="$PWD/order.sh $PWD/d7 warc" \
		--set hook.crawl_ended="$PWD/order.sh $PWD/d7 ended"
done
same "the end comes after the last file, which has its name" \
	"$(sed 's/^warc .* /warc /' order | tr '\n' ',')" \
	"$(for i in 1 2 3 4 5 6; do printf 'warc 0,ended 0 0,'; done)"
rm -rf d8 order
mkdir -p d8/hooks
"$A" crawl "$WEB/" --data d8 --quiet --delay 200ms \
	--set hook.crawl_ended="$PWD/order.sh $PWD/d8 ended" 2>err &
pid=$!
check "the end is remembered when a crawl begins" \
	soon test -e d8/hooks/crawl_ended-0
# A directory with the temporary name makes writing this call fail.
mkdir d8/hooks/crawl_ended-0.new
check "... ends" wait "$pid"
same "... and called" "$(cut -d ' ' -f 1,2 order)" "ended 0"
