#!/bin/bash
#
# items_polite.py on PostgreSQL.
. "$(dirname "$0")/on_postgresql.bash"
on_postgresql items_polite "$@"
