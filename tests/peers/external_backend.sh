#!/bin/bash
# The simulated back end of external crawlers, and the example crawler in Python.
exec python3 "${0%.sh}.py" "$@"
