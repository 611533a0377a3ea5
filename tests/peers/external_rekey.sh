#!/bin/bash
# argiope external rekey: what users have granted, sealed by another key.
exec python3 "${0%.sh}.py" "$@"
