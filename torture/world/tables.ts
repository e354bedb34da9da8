import type { Database } from '../../src/postgres/database';
import { migrate } from '../../src/postgres/migrate';
import { roleStatements } from '../../src/postgres/roles';

/** Producers and workers connect as in production, each with no more than it needs. */
export const ROLES = { app: 'storm_app', worker: 'storm_worker', operator: 'storm_operator' };

/**
 * The application's own. `business` is what an event is about: a row for each event, written in one transaction with it,
 * so that the table says what was committed. `effects` is what transactional handlers do; nothing in it is unique, so that
 * a second effect is seen.
 *
 * `removed` is an auditor's: what became of a row that is gone nobody else can tell. Written by whoever deletes, as the
 * owner, since a worker has no business there.
 */
const APPLICATION = `
  CREATE TABLE public.business (event_id uuid PRIMARY KEY, type text NOT NULL, producer text NOT NULL, cause uuid);
  CREATE TABLE public.effects (event_id uuid NOT NULL, handler text NOT NULL, attempt integer NOT NULL);
  GRANT INSERT ON public.business TO ${ROLES.app}, ${ROLES.worker};
  GRANT INSERT ON public.effects TO ${ROLES.worker};
  CREATE TABLE public.removed (
    event_id uuid, status text NOT NULL, done_for_ms float8, open integer NOT NULL, at timestamptz NOT NULL);`;

const AUDIT = `
  CREATE FUNCTION public.note_removed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
  BEGIN
    INSERT INTO public.removed
    SELECT OLD.event_id, OLD.status, extract(epoch FROM clock_timestamp() - OLD.published_at) * 1000,
           (SELECT count(*) FROM :schema.deliveries d
             WHERE d.event_id = OLD.event_id AND d.state IN ('waiting', 'dead')), clock_timestamp();
    RETURN NULL;
  END $$;
  CREATE TRIGGER note_removed AFTER DELETE ON :schema.event_queue FOR EACH ROW EXECUTE FUNCTION public.note_removed()`;

export async function makeTables(owner: Database): Promise<void> {
  for (const role of Object.values(ROLES)) await owner.query(`CREATE ROLE ${role} LOGIN`);
  await migrate(owner);
  await grant(owner);
  await owner.query(APPLICATION);
  await owner.query(AUDIT);
}

/** What `outbox migrate --roles` prints. */
export async function grant(owner: Database): Promise<void> {
  // As one: in between a worker would have nothing.
  await owner.query(roleStatements(owner.schema, ROLES).join('; '));
}
