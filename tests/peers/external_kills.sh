#!/bin/bash
# kill -9 of the daemon while tasks of the external door run.
exec python3 "${0%.sh}.py" "$@"
