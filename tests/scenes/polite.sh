#!/bin/bash
#
# bench/polite in short: many hosts at once, each with its pause of a second, as
# the server sees it.
. "$(dirname "$0")/scene.bash"

export ARGIOPE_BENCH=$PWD/bench

# Behind a loaded machine a request may be late, never early.
check "200 hosts are asked each second, none too soon" \
	timeout 300 "$HERE/../../bench/polite" --quick --least 0.8
pauses=$(sed -n 's/.*breaches | [0-9,]* of \([0-9]*\) pauses.*/\1/p' check.out)
same "so many pauses were seen" "$((${pauses:-0} >= 400))" 1
