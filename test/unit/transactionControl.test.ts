import fc from 'fast-check';
import { controlsTransaction } from '../../src/handlers/transactionControl';

/** What an end looks like, and all that begins or ends a thing in which one may be hidden. */
const words = fc.constantFrom('commit', '; commit;', ';begin;', '; END', '\n;rollback\n', ';', "'", '"', '$$', '$a$', '--', '\\', 'e', ' ', '\n', 'é', '1'); // prettier-ignore
const hidden = fc.array(words, { maxLength: 12 }).map((all) => all.join(''));
const { comment } = fc.letrec<{ comment: string }>((tie) => ({
  comment: fc
    .array(fc.oneof({ maxDepth: 4 }, hidden, tie('comment')), { maxLength: 4 })
    .map((all) => `/*${all.join('')}*/`),
}));
const lineComment = hidden.map((text) => `--${text.replace(/\n/g, ' ')}`).chain((text) => fc.constantFrom(`${text}\n`, `${text}\r`)); // prettier-ignore
const blank = fc.oneof(fc.constantFrom(' ', '\n', '\t'), comment, lineComment);
const blanks = fc.array(blank, { maxLength: 4 }).map((all) => all.join(''));
const opaque = fc.oneof(
  blank,
  hidden.map((text) => `'${text.replace(/'/g, "''")}'`),
  hidden.map((text) => `e'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`),
  hidden.map((text) => `E'${text.replace(/\\/g, '\\n').replace(/'/g, "''")}'`),
  hidden.map((text) => `"${text.replace(/"/g, '""')}"`),
  fc.tuple(fc.constantFrom('', 'A', 'é_1'), hidden).map(([tag, text]) => `$${tag}$${tag === '' ? text.replaceAll('$', '') : text}$${tag}$`),
); // prettier-ignore
const value = fc.oneof(opaque, fc.constantFrom('commit', 'e', 'a$', 'E1', 'case when x then 1 end', '$1', '1e5', '-', '/', '(begin)')); // prettier-ignore
const values = fc.array(value, { maxLength: 6 }).map((all) => all.join(' '));
const query = fc.tuple(blanks, values).map(([before, text]) => `${before}select ${text} `);
const body = fc
  .tuple(blanks, fc.constantFrom('FUNCTION', 'or replace\tfunction', 'Procedure'), blanks, fc.array(query, { maxLength: 3 }), blanks) // prettier-ignore
  .map(([before, what, gap, queries, after]) => `${before}create ${what} f(a int) BEGIN ${gap}atomic ${queries.map((text) => `${text};`).join('')}${after}End`); // prettier-ignore
const harmless = fc.oneof({ weight: 4, arbitrary: query }, body, fc.constantFrom('', 'rollback to here', 'ROLLBACK work TO SAVEPOINT here', 'release here', 'prepare p as select 1', 'commitment', 'savepoint here', 'select 1 as begin')); // prettier-ignore
const statements = fc.array(harmless, { maxLength: 4 });
const control = fc.constantFrom('BEGIN', 'begin isolation level serializable', 'Start Transaction', 'start\n transaction read only', 'COMMIT', 'commit and chain', "commit prepared 'x'", 'end', 'END WORK', 'abort', "prepare transaction 'x'", 'ROLLBACK', 'rollback work', 'rollback transaction and chain'); // prettier-ignore

describe('what ends or begins a transaction', () => {
  it('is not seen where a text, a name, a body or a comment only speaks of it', () => {
    fc.assert(
      fc.property(statements, (all) => {
        expect(controlsTransaction(all.join(';'))).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is found behind and before all of them, in whichever statement', () => {
    fc.assert(
      fc.property(statements, blanks, control, opaque, statements, (before, gap, end, behind, after) => {
        expect(controlsTransaction([...before, `${gap}${end} ${behind}`, ...after].join(';'))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    'CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; END',
    'CREATE PROCEDURE p() LANGUAGE sql BEGIN ATOMIC END',
    'create or replace function f() returns int begin atomic; select case when true then 1 end; select 2; end; select 3',
    '/* a /* b */ ; commit later */ SELECT 1',
    'SELECT 1 /* ; /*/ ; commit */ ; commit */',
    'SELECT $A$ $a$; commit; $A$',
    "SELECT 'it''s; commit', E'\\\\', '; end'",
  ])('is not %s', (text) => {
    expect(controlsTransaction(text)).toBe(false);
  });

  it.each([
    'CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; END; COMMIT',
    'CREATE PROCEDURE p() LANGUAGE sql BEGIN ATOMIC END; end',
    'CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN 1; END',
    'SELECT begin atomic FROM t; COMMIT',
    'SELECT 1 /* a /* b */ c */; commit',
    '/**/ commit /* */ /*',
    '-- so\rcommit',
    'SELECT a$b$; commit; SELECT c$b$',
    "SELECT namE'\\'; commit; --'",
  ])('is %s', (text) => {
    expect(controlsTransaction(text)).toBe(true);
  });

  it('is looked for in a text of megabytes within a moment', () => {
    const text = `INSERT INTO t VALUES ${"(1, 'it''s', $1),".repeat(50_000)}; SELECT '${"x''".repeat(500_000)}'`;
    expect(controlsTransaction(text)).toBe(false);
    expect(controlsTransaction(`${text}; commit`)).toBe(true);
  });
});
