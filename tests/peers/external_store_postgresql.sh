#!/bin/bash
#
# external_store.py with a PostgreSQL server that goes and comes back.
. "$(dirname "$0")/on_postgresql.bash"
on_postgresql external_store "$@"
