#!/bin/bash
# The external door: requests of operators, and who may make them.
exec python3 "${0%.sh}.py" "$@"
