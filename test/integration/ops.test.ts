import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { tmpdir } from 'node:os';
import { parse } from 'yaml';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { allHandled } from '../support/handled';
import { ANY_PORT, endpointOf, scrape, total, type Sample } from '../support/metrics';
import { TestOutbox } from '../support/outbox';
import { groupingOf, selectorsOf, type Selector } from '../support/promql';

const ROOT = join(__dirname, '..', '..');
const ALERTS = join(ROOT, 'ops', 'prometheus', 'alerts.yml');
const RULE_TESTS = join(ROOT, 'ops', 'prometheus', 'alerts.test.yml');
const DASHBOARD = join(ROOT, 'ops', 'grafana', 'outbox.json');
const LIBRARY = JSON.stringify(join(ROOT, 'dist', 'index.js'));
const HANDLERS = `
  const { defineHandler } = require(${LIBRARY});
  exports.handlers = [
    defineHandler({ name: 'mail', events: ['ThingHappened'], run: () => undefined }),
    defineHandler({ name: 'doomed', events: ['ThingDoomed'], run: () => { throw new Error('never'); } }),
  ];`;
/** Of a histogram and of a counter, what stands behind the name in the documents. */
const SUFFIX = /_(bucket|sum|count)$/;

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const alerts = (parse(readFileSync(ALERTS, 'utf8')) as { groups: { rules: Alert[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);
const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: Panel[] };
const operations = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8');

/** With what Grafana puts in for its variables. */
const asSent = (expression: string) => expression.replaceAll('$__rate_interval', '1m').replaceAll('$schema', '.*');

const expressions: [what: string, expression: string][] = [
  ...alerts.map(({ alert, expr }): [string, string] => [`alert ${alert}`, expr]),
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }, index): [string, string] => [`panel ${title}, ${index + 1}`, asSent(expr)]),
  ),
];

describe('ops/', () => {
  let outbox: TestOutbox;
  let directory: string;
  /** Of a worker that has relayed, handled, and failed. */
  let exported: Sample[];
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'outbox-ops-'));
    const handlers = join(directory, 'handlers.cjs');
    writeFileSync(handlers, HANDLERS);
    outbox = await TestOutbox.create({ ...ANY_PORT, EVENT_QUEUE_MAX_ATTEMPTS: '2' });
    const endpoint = await endpointOf(await outbox.spawnWorker({}, { handlers }));
    await enqueue(outbox.db, [...events(5), event({ type: 'ThingDoomed' })]);
    await allHandled(outbox.db, 'mail', 5);
    exported = await eventually(
      async () => {
        const samples = await scrape(endpoint);
        const dead = total(samples, 'outbox_deliveries', { handler: 'doomed', state: 'dead' });
        return dead === 1 ? samples : undefined;
      },
      60_000,
      'a dead letter among the metrics',
    );
  });
  afterAll(async () => {
    await outbox.close();
    rmSync(directory, { recursive: true });
  });

  const isExported = ({ name, equal }: Selector) =>
    exported.some(
      (sample) => sample.name === name && Object.entries(equal).every(([key, value]) => sample.labels[key] === value),
    );

  it.each(expressions)('%s selects only what a worker exports, by labels that it has', (_what, expression) => {
    const selectors = selectorsOf(expression);
    expect(selectors.length).toBeGreaterThan(0);
    expect(selectors.filter((selector) => !isExported(selector))).toEqual([]);
  });

  it.each(expressions)('%s groups by labels that what it selects has', (_what, expression) => {
    const names = new Set(selectorsOf(expression).map(({ name }) => name));
    const labels = new Set(exported.flatMap((sample) => (names.has(sample.name) ? Object.keys(sample.labels) : [])));
    expect(groupingOf(expression).filter((label) => !labels.has(label))).toEqual([]);
  });

  it.each(alerts)('$alert has the labels that its text names', ({ expr, annotations }) => {
    const named = [...JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
    const grouping = groupingOf(expr);
    // Without grouping it has those of its series, `instance` among them.
    expect(named.filter((label) => grouping.length > 0 && !grouping.includes(label ?? ''))).toEqual([]);
  });

  it('has in the documents whom each alert wakes, now for what is critical, and not before morning for a warning', () => {
    const rows = operations.matchAll(/^\| ([^|]+) \| ([^|]+) \| `(critical|warning)` \|/gm);
    const documented = [...rows].flatMap(([, wake = '', names = '', severity]) => {
      expect(wake).toMatch(severity === 'critical' ? /, now$/ : /^nobody/);
      return [...names.matchAll(/`(\w+)`/g)].map(([, name]) => [name, severity]);
    });
    const rules = alerts.map(({ alert, labels }) => [alert, labels.severity]);
    expect(documented.sort()).toEqual(rules.sort());
  });

  it('has a table in the documents of exactly what is exported', () => {
    const section = /^## Metrics$([^]*?)^## /m.exec(operations)?.[1] ?? '';
    const documented = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    const own = exported.map(({ name }) => name.replace(SUFFIX, '')).filter((name) => !name.startsWith('temporal_'));
    expect([...documented].sort()).toEqual([...new Set(own)].sort());
  });

  it('is never without a name of an alert twice, or a panel twice', () => {
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(alerts.length).toBeGreaterThan(9);
    expect(expressions.length).toBeGreaterThan(40);
  });

  it.each(alerts)('$alert leads to a runbook that says what to do', ({ alert, annotations }) => {
    expect(annotations.runbook_url).toBe(`docs/operations.md#${alert.toLowerCase()}`);
    const runbook = new RegExp(`^### ${alert}$([^]*?)^##`, 'm').exec(`${operations}\n##`)?.[1] ?? '';
    expect(runbook.trim().length).toBeGreaterThan(150);
    expect(annotations.summary && annotations.description).toBeTruthy();
  });

  it('is found right by promtool, where there is one, and fires when its tests say', () => {
    const promtool = (process.env.PATH ?? '')
      .split(delimiter)
      .map((path) => join(path, 'promtool'))
      .find((path) => existsSync(path));
    if (promtool === undefined) {
      console.warn('no promtool on PATH: the rules were parsed, and neither checked nor tested by Prometheus itself');
      return;
    }
    for (const check of [
      ['check', 'rules', ALERTS],
      ['test', 'rules', RULE_TESTS],
    ]) {
      expect(execFileSync(promtool, check, { encoding: 'utf8' })).toContain('SUCCESS');
    }
  });
});
