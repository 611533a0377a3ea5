#!/bin/bash
#
# items_canaries.py on PostgreSQL.
. "$(dirname "$0")/on_postgresql.bash"
on_postgresql items_canaries "$@"
