#!/bin/bash
# Secrets of harvests: RabbitMQ, kombu, the simulated platforms.
exec python3 "${0%.sh}.py" "$@"
