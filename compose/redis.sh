#!/bin/sh
# redis.sh [OPTION…]   becomes Redis; its password goes in by standard input: no list of processes shows it
# redis.sh ping        asks whether it answers
set -eu
here=$(dirname -- "$0")
secret=$(sed -n 's|^redis://[^:@]*:\([^@]*\)@.*$|\1|p' "${REDIS_URL_FILE:-/run/secrets/redis_url}")
[ -n "$secret" ] || { echo "no password in the URL of Redis" >&2; exit 1; }

if [ "${1-}" = ping ]; then
  [ "$(REDISCLI_AUTH=$secret redis-cli ping)" = PONG ]
  exit
fi
exec "${REDIS_SERVER:-redis-server}" - "$@" <<END
include $here/redis.conf
requirepass $secret
END
