#!/bin/bash
#
# bench/kills in short: kill -9 at random moments of crawls that are gone on
# with; bench/warcs.py reads what is left.  How long a start may take is not
# asked here: the machine may be busy.
. "$(dirname "$0")/scene.bash"

export ARGIOPE_BENCH=$PWD/bench

check "12 kills: nothing lost, nothing twice, numbers without a gap" \
	timeout 300 "$HERE/../../bench/kills" --kills 12 --pages 4000 --start 30
# The check must have had something to check.
kills=$(sed -n 's/^| kills | \([0-9,]*\) |$/\1/p' check.out)
same "so many kills" "$((${kills:-0} >= 12))" 1
