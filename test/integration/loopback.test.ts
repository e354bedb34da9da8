import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/servers/ports';
import { eventually } from '../support/eventually';
import { isLoopback, listenersOf } from '../support/listening';
import { spawnCli } from '../support/runCli';

const onLinux = process.platform === 'linux';
if (!onLinux) console.warn('Skipped: where processes listen is read in /proc, which only Linux has.');

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

(onLinux ? describe : describe.skip)('where something listens, by the kernel’s own table', () => {
  it.each(['127.0.0.1', '0.0.0.0', ...(hasIpv6 ? ['::1', '::'] : [])])(
    'a listener on %s is found, and told from one on loopback',
    async (at) => {
      const server = createServer();
      await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, at, resolve));
      const { port } = server.address() as AddressInfo;
      const found = listenersOf(process.pid).filter((listener) => listener.port === port);
      await new Promise((resolve) => server.close(resolve));
      expect(found.map(isLoopback)).toEqual([['127.0.0.1', '::1'].includes(at)]);
    },
  );

  it('`outbox dev` with its servers, their other ports, and the metrics of its worker is on loopback only', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'temporal-outbox-dev-'));
    const [postgres, nats, temporal, ui] = [await freePort(), await freePort(), await freePort(), await freePort()];
    // No address of metrics is given: the default is what counts.
    const child = spawnCli(['dev', '--directory', directory], {
      ...{ DATABASE_URL: '', NATS_URL: '', TEMPORAL_ADDRESS: '' },
      OUTBOX_POSTGRES_PORT: String(postgres),
      OUTBOX_NATS_PORT: String(nats),
      OUTBOX_TEMPORAL_PORT: String(temporal),
      OUTBOX_TEMPORAL_UI_PORT: String(ui),
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (said += text));
    try {
      const metrics = await eventually(
        () => {
          if (child.exitCode !== null) throw new Error(said);
          return said.includes('The worker is ready') && /http:\/\/127\.0\.0\.1:(\d+)\/metrics/.exec(said)?.[1];
        },
        170_000,
        'a worker that serves its metrics',
      );
      const listeners = listenersOf(child.pid ?? 0);
      const ports = listeners.map(({ port }) => port);
      expect(ports).toEqual(expect.arrayContaining([postgres, nats, temporal, ui, Number(metrics)]));
      expect(listeners.filter((listener) => !isLoopback(listener))).toEqual([]);
    } finally {
      child.kill('SIGTERM');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
