import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsOf, temporalSettingsOf } from '../../src/cli/settings';
import { loadConfig } from '../../src/config';

test('`outbox config` shows every variable that is read', () => {
  const source = readFileSync(join(__dirname, '..', '..', 'src', 'config', 'environment.ts'), 'utf8');
  const read = [...source.matchAll(/^ {2}([A-Z][A-Z_]+): /gm)].map(([, variable]) => variable);
  expect(read.length).toBeGreaterThan(30);
  expect(settingsOf(loadConfig({}), {}).map(({ variable }) => variable)).toEqual(read);
});

test('a setting says whether it was given or is the default; an empty one was not given', () => {
  const env = { OUTBOX_BATCH_SIZE: '7', NATS_URL: 'nats://u:p@n:4222', OUTBOX_POOL_SIZE: '' };
  const settings = settingsOf(loadConfig(env), env);
  const found = (variable: string) => settings.find((setting) => setting.variable === variable);
  expect(found('OUTBOX_BATCH_SIZE')).toMatchObject({ value: 7, source: 'given' });
  expect(found('NATS_URL')).toMatchObject({ value: 'nats://u:***@n:4222', source: 'given' });
  expect(found('OUTBOX_POOL_SIZE')).toMatchObject({ value: 6, source: 'default' });
  expect(found('NATS_CREDS')).toMatchObject({ value: null, source: 'default' });
});

test("Temporal's address may come from a variable, from its file, or be the default; its secrets are masked", () => {
  const env = { TEMPORAL_ADDRESS: 'a:7233', TEMPORAL_API_KEY: 'abc', PATH: '/bin' };
  expect(temporalSettingsOf({ address: 'a:7233', namespace: 'shop' }, env)).toEqual([
    { variable: 'TEMPORAL_ADDRESS', value: 'a:7233', source: 'given' },
    { variable: 'TEMPORAL_NAMESPACE', value: 'shop', source: 'file' },
    { variable: 'TEMPORAL_API_KEY', value: '***', source: 'given' },
  ]);
  expect(temporalSettingsOf({}, {})[0]).toEqual({
    variable: 'TEMPORAL_ADDRESS',
    value: '127.0.0.1:7233',
    source: 'default',
  });
});
