#!/bin/bash
# The external door: calls of front ends about signing in.
exec python3 "${0%.sh}.py" "$@"
