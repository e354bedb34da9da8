import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findTemporal } from '../../src/servers/findBinaries';
import { allBlocks, pages } from '../support/markdown';
import { cloneDatabase, type TestDatabase } from '../support/database';
import { testEnvironment } from '../support/environment';
import { runCli } from '../support/runCli';
import { commandsOf } from '../support/shell';

/** Verbs that change nothing, or only make tables that are there: what documents show of them is run as it stands. */
const SAFE = /^(config|status|dead list|handlers|migrate|reconcile)\b(?!.*--watch)/;
/** docs/migrating.md needs tables of others: migratingPage.test.ts runs it. */
const OWN_TEST = ['docs/migrating.md'];

const verbs = [
  ...new Set(
    allBlocks('sh')
      .flatMap(({ text }) => commandsOf(text))
      .map(({ words }) => words)
      .filter(([program]) => program === 'outbox')
      .map((words) => words.slice(1).join(' '))
      .filter((line) => SAFE.test(line) && !/[<…]/.test(line)),
  ),
];

describe('commands of the documents', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await cloneDatabase();
  });
  afterAll(() => database.drop());

  test('there are some', () => {
    expect(verbs.length).toBeGreaterThan(2);
  });

  test.each(verbs)('outbox %s', async (line) => {
    const { natsUrl, temporalAddress } = testEnvironment();
    const { code, stderr } = await runCli(line.split(' '), {
      DATABASE_URL: database.url,
      OUTBOX_SCHEMA: database.schema,
      NATS_URL: natsUrl,
      TEMPORAL_ADDRESS: temporalAddress,
      OUTBOX_STREAM: `S_${database.schema}`,
      OUTBOX_SUBJECT_PREFIX: `e_${database.schema}`,
      OUTBOX_LOG_LEVEL: 'error',
    });
    // 3 and 4 are answers of `outbox reconcile`: nothing has made this stream yet.
    const answers = line.startsWith('reconcile') ? [0, 3, 4] : [0];
    if (!answers.includes(code ?? -1)) throw new Error(`exit code ${code}: ${stderr}`);
  });

  test('SQL, page by page in one transaction each', async () => {
    const blocks = allBlocks('sql').filter(({ page }) => !OWN_TEST.includes(page));
    const problems: string[] = [];
    for (const page of new Set(blocks.map((block) => block.page))) {
      const texts = blocks.filter((block) => block.page === page).map(({ text }) => text);
      problems.push(...(await refusals(database, texts)).map((problem) => `${page}: ${problem}`));
    }
    expect(problems).toEqual([]);
  });

  test('SQL that names what is not there would be found', async () => {
    const texts = ['SELECT status FROM event_queue', 'SELECT state FROM event_queue', 'SELECT handler FROM deliveries'];
    expect(await refusals(database, texts)).toEqual(['column "state" does not exist']);
  });
});

describe('commands of `temporal`', () => {
  const inline = pages().flatMap(({ text }) => [...text.matchAll(/`(temporal [^`]+)`/g)].map(([, line]) => line!));
  const commands = [...inline, ...allBlocks('sh').map(({ text }) => text)]
    .flatMap(commandsOf)
    .map(({ words }) => words)
    .filter(([program]) => program === 'temporal');

  test('have verbs and options that its command line knows', async () => {
    expect(commands.length).toBeGreaterThan(0);
    const problems = await Promise.all(commands.map(wrongWithTemporal));
    expect(problems.filter(Boolean)).toEqual([]);
  });

  test.each([
    ['temporal workflow signl --workflow-id x', 'no such verb'],
    ['temporal workflow signal --workflowid x', 'no option --workflowid'],
  ])('%j would be found', async (line, problem) => {
    expect(await wrongWithTemporal(line.split(' '))).toContain(problem);
  });
});

/** What PostgreSQL says against each text; nothing of them stays. */
async function refusals(database: TestDatabase, texts: readonly string[]): Promise<string[]> {
  const client = await database.db.pool.connect();
  const problems: string[] = [];
  try {
    await client.query(`BEGIN; SET LOCAL search_path TO ${database.schema}, public`);
    for (const text of texts) {
      await client.query('SAVEPOINT block');
      await client.query(text).catch(async (error: Error) => {
        problems.push(error.message);
        await client.query('ROLLBACK TO block');
      });
    }
    await client.query('ROLLBACK');
  } finally {
    client.release();
  }
  return problems;
}

/** Its own help knows; `<word>` stands for a value. */
async function wrongWithTemporal(words: readonly string[]): Promise<string | undefined> {
  const rest = words.slice(1);
  const firstOption = rest.findIndex((word) => word.startsWith('-'));
  const path = firstOption < 0 ? rest : rest.slice(0, firstOption);
  const file = await findTemporal(() => undefined);
  const help = await promisify(execFile)(file, [...path, '--help']).then(
    ({ stdout }) => stdout,
    () => '',
  );
  if (!help.includes(`temporal ${path.join(' ')} `)) return `${words.join(' ')}: no such verb`;
  const options = rest.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0]!);
  const unknown = options.find((option) => !new RegExp(`\\s${option}\\s`).test(help));
  return unknown === undefined ? undefined : `${words.join(' ')}: no option ${unknown}`;
}
