-- Since when each handler is recorded for each event type: what was due before need not have been given to it.

ALTER TABLE :schema.outbox_installation
  -- {"<handler>": {"<event type>": <milliseconds since 1970, by the database's clock>}}; what has no time is not known.
  ADD COLUMN handlers_since jsonb NOT NULL DEFAULT '{}',
  -- The value of `handlers_revision` that the times belong to. A build before this migration moves the one without the
  -- other; it may have taken a handler out and in again, so its times are known no more.
  ADD COLUMN handlers_since_revision bigint NOT NULL DEFAULT 0;

-- When what is recorded already was recorded cannot be known: from now on it is there.
UPDATE :schema.outbox_installation
   SET handlers_since_revision = handlers_revision,
       handlers_since = coalesce((
         SELECT jsonb_object_agg(e.key, (
                  SELECT coalesce(jsonb_object_agg(t.type, ceil(extract(epoch FROM clock_timestamp()) * 1000)), '{}')
                    FROM jsonb_array_elements_text(e.value) AS t (type)))
           FROM jsonb_each(handler_events) AS e), '{}');
