#!/bin/bash
# The unmodified Java client and service of URL Frontier, which
# `bench/peers.sh reference` lays where $ARGIOPE_REFERENCE says; and, if they lie
# there too, the release's own tests.  The service listens on every address: in
# a network of its own that is loopback alone.
if [ -z "${ARGIOPE_REFERENCE:-}" ]; then
	echo 'skip urlfrontier_java - ARGIOPE_REFERENCE does not name the jars'
	exit 0
fi
exec unshare -rn sh -c 'ip link set lo up && exec python3 "$1"' sh \
    "${0%.sh}.py"
