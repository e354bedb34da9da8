import { DatabaseError } from 'pg';
import type { CommandFailure } from '../../src/cli/failure';
import { importLines, UnknownCommit } from '../../src/cli/importLines';
import type { Line } from '../../src/cli/lines';
import type { Database } from '../../src/postgres/database';

/** What PostgreSQL says, in the language of its `lc_messages`. */
const said = (code: string, severity: string) =>
  Object.assign(new DatabaseError('Nachricht', 9, 'error'), { code, severity });
const bySocket = (code: string) => Object.assign(new Error(`write ${code}`), { code, syscall: 'write' });

/** How an import of two lines ends whose COMMIT fails so. @param usable whether the connection takes statements behind it */
async function importFailing(atCommit: Error, usable: boolean): Promise<unknown> {
  const query = (text: string) => {
    if (text.endsWith('COMMIT')) return Promise.reject(atCommit);
    if (text.endsWith('ROLLBACK') && !usable)
      return Promise.reject(new Error('Client was closed and is not queryable'));
    return Promise.resolve({ rows: [] });
  };
  const client = { query, on: () => client, off: () => client, release: () => undefined };
  const db = { pool: { connect: () => Promise.resolve(client) }, schema: 'public' } as unknown as Database;
  return importLines(db, twoLines(), {
    ...{ batch: 2, fromLine: 1, wake: false, maxPayloadBytes: 1_000, signal: new AbortController().signal },
    onCommit: () => undefined,
  }).catch((error: unknown) => error);
}

async function* twoLines(): AsyncGenerator<Line> {
  const text = JSON.stringify({ type: 'T', aggregateType: 'a', aggregateId: '1', payload: {} });
  for (const number of [1, 2]) yield await Promise.resolve({ number, text, offset: number });
}

describe('a COMMIT that fails in an import', () => {
  it.each([
    ['23505', 'FEHLER'],
    ['23514', 'ОШИБКА'],
    ['40001', 'ERREUR'],
    ['53100', '錯誤'],
    ['57014', 'FEHLER'],
    ['P0001', 'エラー'],
    ['ZZ001', 'ERROR'],
  ])('has written nothing where PostgreSQL refuses it, in whatever language (%s, %s)', async (code, severity) => {
    const refusal = said(code, severity);
    expect(await importFailing(refusal, true)).toBe(refusal);
  });

  it.each([
    ['a server that ends', said('57P01', 'FATAL'), false],
    ['a server that ends, behind a pooler', said('57P01', 'SCHWERWIEGEND'), true],
    ['a server that crashes', said('57P02', 'ATENŢIE'), true],
    ['a server that starts', said('57P03', 'FATAL'), true],
    ['a server whose disk is full in the middle of it', said('53100', 'PANIK'), false],
    ['a server that fails at its files', said('58030', 'PANIC'), true],
    ['a server that fails in itself', said('XX000', 'ERROR'), true],
    ['a connection that a pooler lost', said('08006', 'ERROR'), true],
    ['an answer that a pooler could not read', said('08P01', 'ERROR'), true],
    ['an end that a pooler does not know', said('40003', 'ERROR'), true],
    ['a socket that was closed', bySocket('EPIPE'), false],
    ['a socket that was reset', bySocket('ECONNRESET'), true],
    ['the client, without a code', new Error('Connection terminated unexpectedly'), false],
  ])('may have written its lines where the error is that of %s', async (_, error, usable) => {
    const failure = await importFailing(error, usable);
    expect(failure).toBeInstanceOf(UnknownCommit);
    expect(failure).toMatchObject({ lines: { fromLine: 1, toLine: 2 }, cause: error });
    expect((failure as CommandFailure).message).toMatch(
      /^The connection was lost while lines 1 to 2 were being committed/,
    );
  });
});
