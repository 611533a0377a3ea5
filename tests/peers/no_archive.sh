#!/bin/bash
exec bash "${0%/*}/python.bash" websockets "${0%.sh}.py" "$@"
