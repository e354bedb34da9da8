import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { enqueue, event } from '../support/events';
import { allHandled } from '../support/handled';
import { TestOutbox } from '../support/outbox';
import { defineHandler } from '../../src/handlers/defineHandler';

const LIBRARY = JSON.stringify(join(__dirname, '..', '..', 'dist', 'index.js'));
const NOOP = `() => undefined`;

describe('`outbox worker --handlers`', () => {
  let outbox: TestOutbox;
  let directory: string;
  beforeAll(async () => {
    outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db' });
    directory = mkdtempSync(join(tmpdir(), 'outbox-handlers-'));
  });
  afterAll(async () => {
    await outbox.close();
    rmSync(directory, { recursive: true });
  });

  const write = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };
  const common = (body: string) => `const { defineEvent, defineHandler } = require(${LIBRARY});\n${body}`;
  const exits = async (module: string | undefined, settings: Record<string, string> = {}) => {
    const options = { awaitReady: false, ...(module !== undefined && { handlers: module }) };
    const worker = await outbox.spawnWorker(settings, options);
    return { code: await worker.exited, logs: worker.logs.join('\n') };
  };

  it.each<[string, string, RegExp]>([
    [
      'two handlers of one name',
      `const one = (n) => defineHandler({ name: 'mail', events: ['A' + n], run: ${NOOP} }); exports.handlers = [one(1), one(2)];`,
      /two handlers are named mail/,
    ],
    [
      'an event type that is not in its list of events',
      `exports.events = [defineEvent('Known')]; exports.handlers = [defineHandler({ name: 'mail', events: ['Unknwon'], run: ${NOOP} })];`,
      /the handler mail names the unknown event type Unknwon/,
    ],
    [
      'a handler without events',
      `exports.handlers = [defineHandler({ name: 'mail', events: [], run: ${NOOP} })];`,
      /must list at least one event/,
    ],
    [
      'a handler named as one of its own activities',
      `exports.handlers = [defineHandler({ name: 'claim', events: ['A'], run: ${NOOP} })];`,
      /own activities/,
    ],
    [
      'a handler that is a plain object',
      `exports.handlers = [{ name: 'mail', events: ['A'], run: ${NOOP} }];`,
      /did not come from defineHandler/,
    ],
    ['no handlers at all', `exports.nothing = 1;`, /exports no handlers/],
    ['a module that throws', `throw new Error('no such table of tariffs');`, /no such table of tariffs/],
  ])('refuses %s with exit code 1 and a message that names it', async (what, body, message) => {
    const path = write(`${what.replaceAll(/\W/g, '-')}.cjs`, common(body));
    const { code, logs } = await exits(path);
    expect(logs).toMatch(message);
    expect(code).toBe(1);
    expect(logs).not.toMatch(/^\s+at /m);
  });

  it('refuses a module that is not there, by its path', async () => {
    const { code, logs } = await exits(join(directory, 'missing.cjs'));
    expect([code, logs]).toEqual([1, expect.stringContaining('missing.cjs cannot be loaded')]);
  });

  it('refuses the backend `db` without handlers, and says how to give some', async () => {
    const { code, logs } = await exits(undefined);
    expect([code, logs]).toEqual([1, expect.stringContaining('EVENT_BUS_BACKEND=db hands events to handlers')]);
    expect(logs).toContain('outbox worker --handlers <module>');
  });

  it('takes an ES module, handles with it, and stops with exit code 0', async () => {
    const text = `import library from ${JSON.stringify(join(__dirname, '..', '..', 'dist', 'index.js'))};
      export const mail = library.defineHandler({ name: 'mail', events: ['ThingHappened'], run: ${NOOP} });
      export const other = 5;`;
    const worker = await outbox.spawnWorker({}, { handlers: write('handlers.mjs', text) });
    await enqueue(outbox.db, [event()]);
    await allHandled(outbox.db, 'mail', 1);
    expect(await worker.kill('SIGTERM')).toBe(0);
  });
});

describe('a worker without handlers, backend `db`', () => {
  it('starts where handlers are recorded, since its events then wait for the workers that have them', async () => {
    const outbox = await TestOutbox.create({ EVENT_BUS_BACKEND: 'db' });
    try {
      await expect(outbox.startWorker()).rejects.toThrow('hands events to handlers');
      const mail = defineHandler({ name: 'mail', events: ['ThingHappened'], run: () => undefined });
      const first = await outbox.startWorker({}, { handlers: [mail] });
      await first.stop();
      const { logs } = await outbox.startWorker();
      expect(JSON.stringify(logs)).toContain('lacks recorded handlers: mail');
    } finally {
      await outbox.close();
    }
  });
});
