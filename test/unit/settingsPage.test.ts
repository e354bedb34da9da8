import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsOf } from '../../src/cli/settings';
import { loadConfig } from '../../src/config';
import { ROOT } from '../support/markdown';

const page = readFileSync(join(ROOT, 'docs/settings.md'), 'utf8');
/** The rows of the tables: variables and the default that stands beside them. */
const rows = [...page.matchAll(/^\| ((?:`[A-Z_]+`(?:, )?)+) \| (.*?) ?\| (.*) \|$/gm)].flatMap(
  ([, variables = '', byDefault = '', text = '']) =>
    [...variables.matchAll(/`([A-Z_]+)`/g)].map(([, variable = '']) => ({ variable, byDefault, text })),
);
const settings = settingsOf(loadConfig({}), {});

test('the page of settings lists each variable that is read, once, with its meaning', () => {
  const listed = rows.map(({ variable }) => variable);
  expect([...listed].sort()).toEqual(settings.map(({ variable }) => variable).sort());
  expect(rows.filter(({ text }) => text.trim() === '')).toEqual([]);
});

test.each(settings.map(({ variable, value }) => [variable, value] as const))(
  'the page of settings has the default of %s',
  (variable, value) => {
    const written = rows.find((row) => row.variable === variable)?.byDefault.replaceAll('`', '');
    // What follows another setting names that one.
    const following: Record<string, string> = {
      OUTBOX_LISTEN_URL: 'DATABASE_URL',
      OUTBOX_CLOUDEVENTS_SOURCE: '/outbox/<schema>',
    };
    expect(written).toBe(following[variable] ?? String(value ?? ''));
  },
);
