#!/bin/bash
# Tasks of users who have signed in: their tokens, and the ends of these.
exec python3 "${0%.sh}.py" "$@"
