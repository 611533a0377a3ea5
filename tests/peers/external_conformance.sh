#!/bin/bash
# The conformance test against a crawler and a back end that break one point.
exec python3 "${0%.sh}.py" "$@"
