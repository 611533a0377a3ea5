#!/bin/bash
# The external door: requests of a back end, and tasks to their ends.
exec python3 "${0%.sh}.py" "$@"
