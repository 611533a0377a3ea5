#!/bin/bash
#
# task_replay.py on PostgreSQL.  Its 1,000 runs are shown by task_replay.sh; here
# the statements are what differs.
. "$(dirname "$0")/on_postgresql.bash"
TASK_REPLAY_RUNS=${TASK_REPLAY_RUNS:-300} on_postgresql task_replay "$@"
