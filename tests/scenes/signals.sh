#!/bin/bash
#
# SIGHUP: a daemon reads its configuration again, a crawl stops in order; and
# where the data directory is when nobody names it.
. "$(dirname "$0")/scene.bash"

web pages=200 delay=0.02

# --- a crawl in the foreground ----------------------------------------------
: >"$WEB_LOG"
# The tests themselves may run under nohup.
behind env --default-signal=HUP "$A" crawl "$WEB/" --data d1 --name hung >c1.out 2>c1.err
asked 10
kill -HUP "$pid"
wait "$pid"
same "a crawl stops in order at SIGHUP" $? 75
has "... and prints how to go on" "crawl --resume --name hung" c1.out c1.err
check "... its archive is sound" "$A" archive check --data d1
same "... no file is left open" "$(find d1 -name '*.open' | wc -l)" 0

# A terminal that is closed sends it twice: the kernel does, and the shell.
: >"$WEB_LOG"
behind env --default-signal=HUP "$A" crawl "$WEB/" --data d2 --name twice >c2.out 2>c2.err
asked 10
kill -HUP "$pid"
sleep 0.01
kill -HUP "$pid" 2>/dev/null
wait "$pid"
same "a second SIGHUP does not hurry it" $? 75
same "... no file is left open" "$(find d2 -name '*.open' | wc -l)" 0

: >"$WEB_LOG"
behind nohup "$A" crawl "$WEB/" --max-pages 60 --data d3 >c3.out 2>c3.err
asked 10
kill -HUP "$pid"
wait "$pid"
same "under nohup the crawl goes on to its end" $? 0

# --- the daemon -------------------------------------------------------------
cat >a.conf <<'END'
log.file = a.log
fetch.user_agent = First/1.0
fetch.resolve = "one.example:80:127.0.0.1:1"
END
daemon d4 --config a.conf
port=$(sed 's/.* //' out)
mv a.log a.log.1
cat >a.conf <<'END'
log.file = a.log
log.level = debug
fetch.user_agent = Second/1.0
fetch.resolve = "one.example:80:127.0.0.1:1"
loops = 3
END
reloads() { cat a.log* | grep -c "serve\.reload"; }
reloaded() { [ "$(reloads)" -gt "$1" ]; }
hup() {
	local before
	before=$(reloads)
	kill -HUP "$pid"
	soon reloaded "$before"
}
hup
check "the daemon lives after SIGHUP" curl -sf "${port}healthz"
has "its log is opened again" "serve.reload" a.log
same "... and the old one is left" "$(grep -c serve.reload a.log.1)" 0
has "what changed is named" 'setting=fetch.user_agent value="Second/1.0"' a.log
has "... and what waits for a restart" "serve.restart_needed" a.log
has "... by its name" "setting=loops" a.log
same "what did not change is not" "$(grep -c fetch.resolve a.log)" 0

printf 'fetch.user_agent = Third/1.0\nfetch.tries_max = many\n' >a.conf
hup
has "a bad file is reported" "serve.reload_failed" a.log
has "... with its line" "a.conf:2" a.log
same "... and nothing of it is taken" "$(grep -c Third/1.0 a.log)" 0
check "the daemon lives on" curl -sf "${port}healthz"

printf 'log.file = nowhere/a.log\n' >a.conf
hup
has "a log that cannot be opened is reported" "nowhere/a.log" a.log
check "the daemon lives on" curl -sf "${port}healthz"

# The new settings are in force for the running crawls.
printf '%s\n' 'log.file = a.log' 'fetch.user_agent = Fourth/1.0' \
	'fetch.allow_private = on' >a.conf
hup
: >"$WEB_LOG"
"$A" schedule put once "$WEB/" --every 1 --unit years --data d4 >/dev/null
asked 10
kill -TERM "$pid"
wait "$pid"
same "SIGTERM ends it" $? 0
zcat d4/archive/*/*.warc.gz >warc
has "requests carry the new user agent" "User-Agent: Fourth/1.0" warc

# --- the data directory -----------------------------------------------------
where() { sed -n 's/^data\.dir = \([^ ]*\) *# \(.*\)/\1 \2/p'; }
# shellcheck disable=SC2016
home="$HOME/.local/share/argiope "'$HOME'
same "the data directory of a person" "$("$A" config | where)" "$home"
same "a terminal of a systemd session is no service" \
	"$(INVOCATION_ID=1 "$A" config | where)" "$home"
same "a service's" "$(STATE_DIRECTORY=/var/lib/argiope "$A" config | where)" \
	"/var/lib/argiope \$STATE_DIRECTORY"
same "... the first of several" \
	"$(STATE_DIRECTORY=/var/lib/a:/var/lib/b "$A" config | where)" \
	"/var/lib/a \$STATE_DIRECTORY"
same "XDG's" "$(XDG_DATA_HOME=/x "$A" config | where)" \
	"/x/argiope \$XDG_DATA_HOME"
same "a relative one is shown as it is found" \
	"$("$A" config --data d1 | where)" "$PWD/d1 --data"
"$A" config --json | tr -d '\n' >config.json
same "as JSON" "$(json '[s["value"] for s in events[0]
	if s["name"] == "data.dir"][0]' config.json)" \
	"$HOME/.local/share/argiope"
