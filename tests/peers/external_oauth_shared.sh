#!/bin/bash
#
# Several daemons on one store, and the users who have signed in at them.
. "$(dirname "$0")/on_postgresql.bash"
on_postgresql external_oauth_shared "$@"
