import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNats, startPostgres, startTemporal, type Server, type TemporalServer } from '../../src/servers';

/** Servers of one test file's own, to be stopped, frozen and killed without disturbing the other files. */
export class OwnServers {
  readonly directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-own-'));
  private readonly servers: Server[] = [];

  async postgres(): Promise<Server> {
    return this.keep(await startPostgres({ directory: join(this.directory, 'p'), durable: false }));
  }

  async nats(): Promise<Server> {
    return this.keep(await startNats({ directory: join(this.directory, 'n') }));
  }

  async temporal(extraArgs: string[] = []): Promise<TemporalServer> {
    return this.keep(await startTemporal({ directory: join(this.directory, 't'), headless: true, extraArgs }));
  }

  /** With its UI, at `uiUrl`. */
  async temporalWithUi(): Promise<TemporalServer> {
    return this.keep(await startTemporal({ directory: join(this.directory, 't') }));
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
    rmSync(this.directory, { recursive: true, force: true });
  }

  private keep<T extends Server>(server: T): T {
    this.servers.push(server);
    return server;
  }
}
