import type { NewEvent } from 'temporal-outbox/producer';
import type { User } from '../../domain/user';
import type { Users } from '../../ports/users';
import { write, type Connection } from './connection';

const COLUMNS = `id, name, display_name AS "displayName", version, moved_to AS "movedTo", public_key AS "publicKey"`;

export class PostgresUsers implements Users {
  constructor(private readonly connection: Connection) {}

  async byName(name: string): Promise<User | undefined> {
    const { rows } = await this.connection.db.query(`SELECT ${COLUMNS} FROM users WHERE name = $1`, [name]);
    return rows[0] as User | undefined;
  }

  async byId(id: string): Promise<User | undefined> {
    const { rows } = await this.connection.db.query(`SELECT ${COLUMNS} FROM users WHERE id = $1`, [id]);
    return rows[0] as User | undefined;
  }

  register(user: User, privateKey: string, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `INSERT INTO users (id, name, display_name, version, public_key, private_key)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
        [user.id, user.name, user.displayName, user.version, user.publicKey, privateKey],
      );
      if (rowCount !== 1) return false;
      await write(tx, events);
      return true;
    });
  }

  change(user: User, events: readonly NewEvent[]): Promise<boolean> {
    return this.connection.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `UPDATE users SET display_name = $2, moved_to = $3, version = $4 WHERE id = $1 AND version = $4 - 1`,
        [user.id, user.displayName, user.movedTo, user.version],
      );
      if (rowCount !== 1) return false;
      await write(tx, events);
      return true;
    });
  }

  async privateKeyOf(id: string): Promise<string> {
    const { rows } = await this.connection.db.query('SELECT private_key AS key FROM users WHERE id = $1', [id]);
    const row = rows[0] as { key: string } | undefined;
    if (!row) throw new Error(`There is no user ${id}`);
    return row.key;
  }
}
