#!/bin/bash
exec python3 "${0%.sh}.py" "$@"
