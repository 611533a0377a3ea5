#!/bin/bash
#
# bench/polite in short: many hosts at once, each with its pause of a second, as
# the server sees it; and over TLS, where connections are kept over the pause, or
# their sessions are resumed.
. "$(dirname "$0")/scene.bash"

export ARGIOPE_BENCH=$PWD/bench

# Behind a loaded machine a request may be late, never early.
check "200 hosts are asked each second, none too soon" \
	timeout 300 "$HERE/../../bench/polite" --quick --least 0.8
pauses=$(sed -n 's/.*breaches | [0-9,]* of \([0-9]*\) pauses.*/\1/p' check.out)
same "so many pauses were seen" "$((${pauses:-0} >= 400))" 1

# A column of a row of the table, by nginx's log.
seen() { sed -n "s/^| $1 | \(.*\)/\1/p" check.out | cut -d '|' -f "$2" | tr -d ' ,'; }
if grep -q '^| TLS |' check.out; then
	same "a connection is kept over the pause, over TLS too" \
		"$(seen 'plain HTTP' 4) $(seen TLS 4)" "100 100"
	closed='TLS, closed by the server after 0.5 s'
	same "each host has one full handshake" "$(seen "$closed" 5)" 100
	same "... and resumes its session each time after it" \
		"$(($(seen "$closed" 6) + 100))" "$(seen "$closed" 4)"
else
	printf 'skip connections over TLS: no nginx, or no openssl\n'
fi
