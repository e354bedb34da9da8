import { chromium, type Browser, type Page } from 'playwright-core';
import { mkdirSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { deliveryWorkflowId } from '../../src/deliveries/deliveryId';
import { defineHandler } from '../../src/handlers/defineHandler';
import { openDatabase, type Database } from '../../src/postgres/database';
import { findChromium } from '../support/chromium';
import { deliveryRows, countDone } from '../support/handled';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { OwnServers } from '../support/ownServers';

const IMAGES = join(__dirname, '..', '..', 'docs', 'images');
const found = findChromium();
// Said beside the report too, which names skipped tests only on request.
if (typeof found === 'string') console.warn(`The tests of the Temporal UI are skipped: ${found}`);

const inBrowser = typeof found === 'string' ? describe.skip : describe;

inBrowser(`in a browser, the Temporal UI${typeof found === 'string' ? ` (skipped: ${found})` : ''}`, () => {
  const own = new OwnServers();
  let outbox: TestOutbox;
  let db: Database;
  let browser: Browser;
  let page: Page;
  let ui: string;
  let mended = false;
  /** Gave its mail up after two attempts. */
  let dead: string;
  /** Waits an hour for its second attempt. */
  let waiting: string;

  beforeAll(async () => {
    os.hostname = () => 'worker-1';
    const [temporal, nats] = await Promise.all([own.temporalWithUi(), own.nats()]);
    ui = temporal.uiUrl!;
    // Servers of its own, so that all names are those of an installation by default: they stand in the screenshots.
    outbox = await TestOutbox.create({
      ...{ NATS_URL: nats.url, TEMPORAL_ADDRESS: temporal.url, OUTBOX_SCHEMA: 'public' },
      ...{ OUTBOX_STREAM: 'EVENTS', OUTBOX_SUBJECT_PREFIX: 'events', EVENT_QUEUE_MAX_ATTEMPTS: '2' },
    });
    db = openDatabase({ url: outbox.database.url, schema: 'public', poolSize: 2 });
    const handlers = [
      defineHandler({
        name: 'send-mail',
        events: ['OrderPlaced'],
        run: () => {
          if (!mended) throw new Error('the mail service answered 503');
        },
      }),
      defineHandler({
        name: 'draw-invoice',
        events: ['OrderCancelled'],
        run: () => {
          throw new Error('no such order');
        },
      }),
    ];
    const worker = await outbox.startWorker({}, { handlers });
    [dead = ''] = await enqueue(db, [event({ type: 'OrderPlaced', aggregateType: 'order', aggregateId: 'o-1' })]);
    await eventually(async () => (await deliveryRows(db)).some(({ state }) => state === 'dead'), 120_000);
    await worker.stop();
    await outbox.startWorker({ OUTBOX_BACKOFF_FIRST_MS: '3600000', OUTBOX_BACKOFF_MAX_MS: '3600000' }, { handlers });
    [waiting = ''] = await enqueue(db, [event({ type: 'OrderCancelled', aggregateType: 'order', aggregateId: 'o-2' })]);
    // A name that no subject can hold: the broker can never take it, and the relay says so.
    await db.query(
      `INSERT INTO :schema.event_queue (event_type, aggregate_type, aggregate_id, payload) VALUES ('not a name', 'order', 'o-3', '{}')`,
    );
    await eventually(async () => (await deliveryRows(db)).length === 2, 120_000);
    await eventually(async () => (await outbox.status()).lastError, 120_000);

    const { file, env } = found as Exclude<typeof found, string>;
    browser = await chromium.launch({
      executablePath: file,
      env: { ...(process.env as Record<string, string>), ...env },
      // Root, as in a container, has no sandbox; the page is our own server's.
      args: ['--no-sandbox', '--disable-gpu'],
      timeout: 120_000,
    });
    page = await browser.newPage({ viewport: { width: 1280, height: 900 }, timezoneId: 'UTC', locale: 'en-US' });
    page.setDefaultTimeout(120_000);
  }, 600_000);

  afterAll(async () => {
    await browser?.close();
    await db?.close();
    await outbox?.close();
    await own.close();
  }, 300_000);

  it('shows lag and last error on the page of the relay', async () => {
    await open('outbox-relay');
    const details = await currentDetails(/lag\s+\d/);
    expect(details).toMatch(/^running\s+Since \S+Z\.\s/);
    expect(details).toMatch(/Last error \(\S+Z\): .*is no subject token/);
    await screenshot('relay');
  }, 300_000);

  it('shows the workers and what they received on the page of the consumer', async () => {
    await open('outbox-consumer');
    expect(await currentDetails(/received\s+2/)).toMatch(/receiving\n[^]*handed over to delivery runs\s+2/);
    await screenshot('consumer');
  }, 300_000);

  it('shows the attempts, the reason and the next attempt on the page of a delivery run', async () => {
    await open(deliveryWorkflowId('public', waiting));
    const details = await currentDetails(/draw-invoice/);
    expect(details).toMatch(/state\s+waiting\s+attempts\s+1 of 2\s+next attempt\s+\S+Z\s+last failure\s+no such order/);
    await screenshot('delivery-run');
  }, 300_000);

  it('sends a reemit from its dialog, and the dead letter is handled', async () => {
    mended = true;
    await open('outbox-relay');
    await page.getByRole('button', { name: 'More Actions' }).first().click();
    await page.locator('[data-testid=signal-button]:visible').click();
    const dialog = page.locator('[data-testid=signal-confirmation-modal]:visible');
    await dialog.getByTestId('signal-select-button').click();
    await dialog.getByRole('option', { name: 'Revive dead letters: {"ids"' }).click();
    await dialog.getByRole('textbox', { name: 'Data' }).click();
    // As pasted, in the lines that the editor would make of it when it is left: what stands below must not move.
    await page.keyboard.insertText(JSON.stringify({ ids: [dead] }, null, 2));
    await screenshot('reemit');
    await dialog.getByRole('button', { name: 'Submit' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await eventually(async () => (await countDone(db, 'send-mail')) === 1, 120_000, 'the mail handled');
    expect((await deliveryRows(db)).map(({ event_id }) => event_id)).toEqual([waiting]);
  }, 300_000);

  /** The workflow's page, on the tab that holds what the run says of itself. */
  async function open(workflowId: string): Promise<void> {
    await page.goto(`${ui}/namespaces/default/workflows/${encodeURIComponent(workflowId)}`);
    await page.locator('a:visible', { hasText: 'User Metadata' }).first().click();
  }

  /** It is Markdown, which the UI renders in a frame of its own. */
  function currentDetails(wanted: RegExp): Promise<string> {
    return eventually(
      async () => {
        const texts = await Promise.all(
          page
            .frames()
            .slice(1)
            .map((frame) => frame.locator('body').innerText()),
        );
        const text = texts.find((each) => wanted.test(each));
        if (text === undefined) throw new Error(texts.join('\n'));
        return text.trim();
      },
      120_000,
      `details that say ${wanted}`,
    );
  }

  /** For the documents, which show what this test has seen. */
  async function screenshot(name: string): Promise<void> {
    if (process.env.OUTBOX_TEST_SCREENSHOTS !== 'on') return;
    mkdirSync(IMAGES, { recursive: true });
    await page.screenshot({ path: join(IMAGES, `temporal-${name}.png`), animations: 'disabled' });
  }
});
