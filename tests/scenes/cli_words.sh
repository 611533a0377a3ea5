#!/bin/bash
#
# The command line itself: help, manual, completion, configuration, mistakes.
. "$(dirname "$0")/scene.bash"

verbs=("crawl" "explain" "status" "archive ls" "archive cat" "archive check"
	"archive index" "archive reindex" "archive wacz" "archive export" "archive items"
	"serve"
	"policy list" "policy get" "policy put" "policy delete"
	"schedule list" "schedule put" "schedule delete" "token add"
	"token list" "token revoke" "config" "completion" "man" "version")

too_wide() { awk 'length > 80 { print; bad = 1 } END { exit !bad }' "$1"; }

code "--help" 0 "$A" --help
cp code.out help
for verb in "${verbs[@]}"; do
	has "--help lists $verb" "  $verb" help
	# shellcheck disable=SC2086 # a verb may be two words
	"$A" $verb --help >verb.help 2>verb.err
	same "$verb --help succeeds" $? 0
	if too_wide verb.help; then
		fail "$verb --help fits in 80 columns"
	else
		pass "$verb --help fits in 80 columns"
	fi
	has "$verb --help tells of --set" "--set NAME=VALUE" verb.help
	# shellcheck disable=SC2086
	"$A" man $verb >verb.1 2>&1
	has "man $verb is a manual page" ".TH ARGIOPE-" verb.1
done
code "archive --help lists its verbs" 0 "$A" archive --help

code "no verb" 64 "$A"
code "an unknown verb" 64 "$A" crwal http://example.org/
has "... with the one that was meant" "did you mean crawl" code.err
code "an unknown option" 64 "$A" crawl --deph 3 http://example.org/
has "... with the one that was meant" "--depth" code.err
code "a family without its verb" 64 "$A" archive
code "too few operands" 64 "$A" crawl
code "too many operands" 64 "$A" status x
code "a word that is no choice" 64 "$A" crawl --scope world http://e.org/
code "a number that is none" 64 "$A" crawl --max-pages many http://e.org/
code "a pattern that is none" 64 "$A" crawl --include '(' http://e.org/
code "a secret on the process list" 64 \
	"$A" crawl --header 'Authorization: x' http://e.org/
has "... with the way out" "--auth-file" code.err
code "a password on the process list" 64 \
	"$A" crawl --proxy http://u:p@127.0.0.1:1/ http://e.org/
echo hi >hi
code "a proxy file that is none" 78 "$A" crawl --proxy-file hi http://e.org/
code "a cookie file that is none" 78 "$A" crawl --cookie-file hi http://e.org/
has "... with its line" "line 1: bad number of fields" code.err
code "a directory in place of a file" 74 "$A" crawl --seeds .
has "... is said" ". cannot be read: Is a directory" code.err
code "a file in place of a directory" 73 "$A" crawl --data hi http://e.org/
has "... is said" "hi is a file, not a directory" code.err
code "a policy from a pipe" 65 "$A" explain http://e.org/ \
	--policy <(echo '{"downloads":0}')
has "... is read" "downloads: less than 1" code.err
code "an unknown setting" 78 "$A" config --set fetch.trys_max=1
code "a setting out of its range" 78 "$A" config --set fetch.tries_max=100
ARGIOPE_FETCH_TRIES_MAX=no code "a variable out of its range" 78 "$A" config
code "no such configuration file" 66 "$A" config --config nowhere
same "one sentence for a mistake" "$(wc -l <code.err)" 1
has "... which begins with the program" "argiope: " code.err

"$A" config --example >example.conf
code "the example is a configuration" 0 "$A" config --config example.conf
echo "fetch.tries_max = 5" >own.conf
ARGIOPE_FETCH_REDIRECTS_MAX=7 "$A" config --config own.conf \
	--set fetch.host_connections_max=3 >settled
has "a value of the file" "own.conf:1" settled
has "a value of the environment" "ARGIOPE_FETCH_REDIRECTS_MAX" settled
has "a value of --set" "--set" settled
"$A" config --json --config own.conf >settled.json
check "config --json is JSON" python3 -m json.tool settled.json

"$A" completion bash >completion
check "the completion is bash" bash -n completion
code "another shell" 64 "$A" completion fish
"$A" man >argiope.1
has "the manual has the settings" "fetch.tries" argiope.1
has "the manual has the exit codes" ".SH EXIT STATUS" argiope.1
code "version" 0 "$A" version
has "... says the name" "argiope " code.out
same "version --json" "$("$A" version --json | python3 -c \
	'import json, sys; print(json.load(sys.stdin)["name"])')" argiope
