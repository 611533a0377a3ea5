#!/bin/bash
# The AMQP door of harvests: RabbitMQ, kombu as SFM uses it, a simulated Mastodon.
exec python3 "${0%.sh}.py" "$@"
