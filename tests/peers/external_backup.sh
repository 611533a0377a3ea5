#!/bin/bash
# A backup of a daemon with tasks, spools and registered connectors.
exec python3 "${0%.sh}.py" "$@"
