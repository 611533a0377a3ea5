#!/bin/bash
#
# items_kills.py on PostgreSQL, which two daemons share, and which is killed, too.
. "$(dirname "$0")/on_postgresql.bash"
on_postgresql items_kills "$@"
