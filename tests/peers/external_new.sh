#!/bin/bash
exec bash "${0%/*}/python.bash" jsonschema "${0%.sh}.py" "$@"
