#!/bin/bash
# kill -9 of the daemon after each change that a task makes to its files.
exec python3 "${0%.sh}.py" "$@"
