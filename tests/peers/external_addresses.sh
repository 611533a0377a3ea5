#!/bin/bash
# Addresses that the external door must not reach, in a network of the script's
# own: there each address is this machine, and a connection to any is noticed.
enter="unshare --net --"
if ! $enter true 2>/dev/null; then
	echo "skip external_addresses - a network namespace is not allowed here"
	exit 0
fi
exec $enter python3 "${0%.sh}.py" "$@"
