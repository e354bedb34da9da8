#!/bin/sh
# Makes Temporal's two databases, or brings them up to the version of this image. May run again at any time.
# temporal-sql-tool reads SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD.
set -eu

schemas=${TEMPORAL_SCHEMAS:-/etc/temporal/schema/postgresql/v12}

prepare() {
  temporal-sql-tool --database "$1" create
  temporal-sql-tool --database "$1" setup-schema --version 0.0
  temporal-sql-tool --database "$1" update-schema --schema-dir "$schemas/$2/versioned"
}

prepare temporal temporal
prepare temporal_visibility visibility
