#!/bin/bash
#
# Two daemons of the external door on one PostgreSQL store.
. "$(dirname "$0")/on_postgresql.bash"
on_postgresql external_shared "$@"
