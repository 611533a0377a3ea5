#!/bin/bash
# Secrets of the external door: searched for in all that the daemon leaves.
exec python3 "${0%.sh}.py" "$@"
