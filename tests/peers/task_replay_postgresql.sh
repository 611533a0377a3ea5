#!/bin/bash
#
# task_replay.py on PostgreSQL.
. "$(dirname "$0")/on_postgresql.bash"
on_postgresql task_replay "$@"
