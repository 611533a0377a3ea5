#!/bin/bash
exec bash "${0%/*}/python.bash" json "${0%.sh}.py" "$@"
