import { duration, plain, table } from '../../src/cli/output';

test.each([
  [0, '0 ms'],
  [999.4, '999 ms'],
  [1_000, '1 s'],
  [200_000, '3 min 20 s'],
  [3_600_000, '1 h'],
  [7_500_000, '2 h 5 min'],
  [273_600_000, '3 d 4 h'],
])('%p ms is said as %s', (ms, said) => {
  expect(duration(ms)).toBe(said);
});

test('text that others wrote cannot move the cursor, recolour the screen or turn its direction', () => {
  expect(plain('a\u001b[2Jb\r\nc\u202ed\u2028e')).toBe('a [2Jb c d e');
});

test('a table has no frame, and columns that start where their headings do', () => {
  expect(table(['A', 'BCD', 'E'], [['1', '2', '3'], ['long', '', 'x']])).toBe(
    'A     BCD  E\n1     2    3\nlong       x',
  ); // prettier-ignore
});
