import { chownSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Server } from '../../src/servers';
import type { Authority, Certificate } from './certificates';
import type { OwnServers } from './ownServers';

export const PASSWORD = 'S3CRET-of-postgres';

/**
 * A PostgreSQL that takes nobody over a plain connection but its superuser: `by_password` with SCRAM, `by_certificate`
 * with a client certificate of that name; both may create schemas.
 */
export class SecurePostgres {
  private constructor(
    readonly server: Server,
    private readonly data: string,
  ) {}

  static async start(servers: OwnServers, authority: Authority, certificate: Certificate): Promise<SecurePostgres> {
    const server = await servers.postgres();
    const secure = new SecurePostgres(server, join(servers.directory, 'p', 'postgres'));
    await secure.asSuperuser(
      `SET password_encryption = 'scram-sha-256'`,
      `CREATE ROLE by_password LOGIN PASSWORD '${PASSWORD}'`,
      `CREATE ROLE by_certificate LOGIN`,
      `GRANT CREATE ON DATABASE postgres TO by_password, by_certificate`,
      `ALTER SYSTEM SET ssl_ca_file = '${secure.place('ca.pem', authority.ca)}'`,
      `ALTER SYSTEM SET ssl = on`,
    );
    await secure.present(certificate);
    writeFileSync(
      join(secure.data, 'pg_hba.conf'),
      [
        'host all postgres 127.0.0.1/32 trust',
        'hostssl all by_password 127.0.0.1/32 scram-sha-256',
        'hostssl all by_certificate 127.0.0.1/32 cert',
      ].join('\n'),
    );
    await secure.asSuperuser('SELECT pg_reload_conf()');
    return secure;
  }

  /** From the next connection on. */
  async present(certificate: Certificate): Promise<void> {
    const names = {
      ssl_cert_file: this.place('s.crt', certificate.cert),
      ssl_key_file: this.place('s.key', certificate.key),
    };
    await this.asSuperuser(
      ...Object.entries(names).map(([name, file]) => `ALTER SYSTEM SET ${name} = '${file}'`),
      'SELECT pg_reload_conf()',
    );
  }

  /** @param login user, or user and password */
  url(login: string, parameters: Readonly<Record<string, string>>): string {
    const url = new URL(this.server.url.replace('postgres@', `${login}@`));
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.toString();
  }

  async asSuperuser(...statements: string[]): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.server.url });
    await client.connect();
    try {
      let rows: Record<string, unknown>[] = [];
      for (const statement of statements) ({ rows } = await client.query<Record<string, unknown>>(statement));
      return rows;
    } finally {
      await client.end();
    }
  }

  /** A file that the server may read, and nobody else: it refuses a key that others may read. */
  private place(name: string, content: string): string {
    const file = join(this.data, name);
    writeFileSync(file, content, { mode: 0o600 });
    const { uid, gid } = statSync(this.data);
    chownSync(file, uid, gid);
    return name;
  }
}
