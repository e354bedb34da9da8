import type { RemoteActor, StoredActors } from '../../ports/remoteActors';
import type { Connection } from './connection';

export class PostgresStoredActors implements StoredActors {
  constructor(private readonly connection: Connection) {}

  async find(uri: string): Promise<RemoteActor | undefined> {
    const { rows } = await this.connection.db.query(
      `SELECT uri, inbox, key_id AS "keyId", public_key AS "publicKey", display_name AS "displayName",
              moved_to AS "movedTo"
         FROM remote_actors WHERE uri = $1`,
      [uri],
    );
    return rows[0] as RemoteActor | undefined;
  }

  async claimRefresh(uri: string): Promise<boolean> {
    const { rowCount } = await this.connection.db.query(
      `UPDATE remote_actors SET fetched_at = clock_timestamp()
        WHERE uri = $1 AND fetched_at < clock_timestamp() - interval '1 minute'`,
      [uri],
    );
    return rowCount === 1;
  }

  async save({ uri, inbox, keyId, publicKey, displayName, movedTo }: RemoteActor, version: number): Promise<void> {
    await this.connection.db.query(
      `INSERT INTO remote_actors AS old (uri, inbox, key_id, public_key, display_name, moved_to, version, move_version)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
       ON CONFLICT (uri) DO UPDATE
         SET inbox = excluded.inbox, key_id = excluded.key_id, public_key = excluded.public_key,
             display_name = excluded.display_name, version = excluded.version,
             moved_to = CASE WHEN excluded.version >= old.move_version THEN excluded.moved_to ELSE old.moved_to END,
             move_version = greatest(excluded.version, old.move_version), fetched_at = clock_timestamp()
         WHERE excluded.version >= old.version`,
      [uri, inbox, keyId, publicKey, displayName, movedTo, version],
    );
  }

  async move(uri: string, target: string, version: number): Promise<void> {
    await this.connection.db.query(
      'UPDATE remote_actors SET moved_to = $2, move_version = $3 WHERE uri = $1 AND move_version < $3',
      [uri, target, version],
    );
  }
}
