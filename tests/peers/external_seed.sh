#!/bin/bash
# Each request and reply of the seed's external crawler, in its own spelling.
exec python3 "${0%.sh}.py" "$@"
