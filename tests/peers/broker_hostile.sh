#!/bin/bash
# os/broker against a hostile broker.
exec bash "$(dirname "$0")/python.bash" pika "${0%.sh}.py" "$@"
