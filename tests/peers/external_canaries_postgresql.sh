#!/bin/bash
#
# external_canaries.py on PostgreSQL.
. "$(dirname "$0")/on_postgresql.bash"
on_postgresql external_canaries "$@"
