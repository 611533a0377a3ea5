#!/bin/bash
#
# items_polite.py with tasks that run in `argiope worker`.
export ITEMS_WORKER=yes
exec "${0%_worker.sh}.sh" "$@"
