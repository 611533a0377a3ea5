#!/bin/bash
# os/broker against RabbitMQ.
exec bash "$(dirname "$0")/python.bash" pika "${0%.sh}.py" "$@"
