#!/bin/bash
# argiope external register and publish, and the versions that tasks run.
exec python3 "${0%.sh}.py" "$@"
