#!/bin/bash
exec bash "${0%/*}/python.bash" grpc "${0%.sh}.py" "$@"
