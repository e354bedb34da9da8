#!/bin/sh
# Makes the namespace unless it is there, and ends when it can be used. The temporal command reads TEMPORAL_ADDRESS and
# TEMPORAL_NAMESPACE.
set -eu

tries=60
until temporal operator namespace describe >/dev/null 2>&1; do
  tries=$((tries - 1))
  if [ "$tries" -eq 0 ]; then
    echo "The namespace $TEMPORAL_NAMESPACE of Temporal at $TEMPORAL_ADDRESS could not be made." >&2
    exit 1
  fi
  # Refused while the server starts, and when another was faster.
  temporal operator namespace create --retention "$TEMPORAL_RETENTION" "$TEMPORAL_NAMESPACE" || sleep 2
done
echo "The namespace $TEMPORAL_NAMESPACE is there."
