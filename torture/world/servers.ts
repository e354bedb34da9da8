import { startNats, startPostgres, startTemporal, type Server } from '../../src/servers';
import { descendants, signal } from '../../src/servers/processes';
import type { OutageKind } from '../checker/history';
import type { Diary } from '../diary';

export const SERVERS = ['postgres', 'nats', 'temporal'] as const;
export type ServerName = (typeof SERVERS)[number];

/** The servers of one storm. Each way to take one away gives it back, and writes down from when to when it was gone. */
export class Servers {
  private readonly running = new Map<ServerName, Server>();
  private stopped = false;

  constructor(private readonly diary: Diary) {}

  async start(directory: string): Promise<void> {
    const started = await Promise.allSettled([
      this.keep('postgres', startPostgres({ directory, durable: true })),
      this.keep('nats', startNats({ directory })),
      this.keep('temporal', startTemporal({ directory, headless: true })),
    ]);
    for (const outcome of started) if (outcome.status === 'rejected') throw outcome.reason as Error;
  }

  url(name: ServerName): string {
    return this.get(name).url;
  }

  /** As a crash: the process and all below it are gone, and it is started again after `downMs`. */
  crash(name: ServerName, wait: () => Promise<void>): Promise<void> {
    return this.away(name, 'crash', async (server) => {
      await server.kill('SIGKILL');
      await wait();
      await this.startAgain(server);
    });
  }

  /** As an operator does it. */
  restart(name: ServerName, wait: () => Promise<void>): Promise<void> {
    return this.away(name, 'restart', async (server) => {
      await server.stop();
      await wait();
      await this.startAgain(server);
    });
  }

  /** It is there and does nothing; PostgreSQL's processes for each connection included. */
  freeze(name: ServerName, wait: () => Promise<void>): Promise<void> {
    return this.away(name, 'freeze', async ({ pid }) => {
      if (pid === undefined) throw new Error(`${name} does not run`);
      const tree = [pid, ...descendants(pid)];
      try {
        for (const each of tree) signal(each, 'SIGSTOP');
        await wait();
      } finally {
        for (const each of tree) signal(each, 'SIGCONT');
      }
    });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all([...this.running.values()].map((server) => server.stop()));
  }

  /** Not when the storm was interrupted meanwhile: nobody would stop it. */
  private async startAgain(server: Server): Promise<void> {
    if (!this.stopped) await server.start();
  }

  private async away(name: ServerName, kind: OutageKind, during: (server: Server) => Promise<void>): Promise<void> {
    await this.diary.span(this.diary.outages, { server: name, kind }, () => during(this.get(name)));
  }

  private get(name: ServerName): Server {
    const server = this.running.get(name);
    if (!server) throw new Error(`${name} was not started`);
    return server;
  }

  private async keep(name: ServerName, starting: Promise<Server>): Promise<void> {
    this.running.set(name, await starting);
  }
}
