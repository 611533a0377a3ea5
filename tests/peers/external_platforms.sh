#!/bin/bash
# Types of harvests as connectors of the external door.
exec python3 "${0%.sh}.py" "$@"
