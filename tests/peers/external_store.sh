#!/bin/bash
# The external door without room, without its store, and without an answer.
exec python3 "${0%.sh}.py" "$@"
