import fc from 'fast-check';
import { linesOf, type Line } from '../../src/cli/lines';

async function* chunked(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

async function read(bytes: Buffer, size: number, maxBytes = 10_000): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const line of linesOf(chunked(bytes, size), maxBytes)) lines.push(line);
  return lines;
}

test('lines are the same however the bytes are cut, with their numbers and offsets', async () => {
  const line = fc.string({ unit: 'binary', maxLength: 30 }).map((text) => text.replace(/[\r\n\ufeff]/g, ' '));
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { minLength: 1 }),
      fc.integer({ min: 1, max: 50 }),
      fc.constantFrom('\n', '\r\n'),
      async (texts, size, end) => {
        const bytes = Buffer.from(texts.map((text) => text + end).join(''));
        const lines = await read(bytes, size);
        expect(lines.map(({ text }) => text)).toEqual(texts);
        expect(lines.map(({ number }) => number)).toEqual(texts.map((_, index) => index + 1));
        expect(lines.at(-1)?.offset).toBe(bytes.length);
      },
    ),
  );
});

test('a last line without a newline counts, and an empty input has no line', async () => {
  expect((await read(Buffer.from('a\nb'), 2)).map(({ text }) => text)).toEqual(['a', 'b']);
  expect(await read(Buffer.alloc(0), 1)).toEqual([]);
});

test('a byte order mark is dropped', async () => {
  expect((await read(Buffer.from('\ufeff{}\n'), 1))[0]?.text).toBe('{}');
});

test('bytes that are not UTF-8 are named by their line, not replaced', async () => {
  const bytes = Buffer.concat([Buffer.from('ok\n'), Buffer.from([0x61, 0xff, 0x0a])]);
  await expect(read(bytes, 3)).rejects.toThrow('Line 2 is not UTF-8 text.');
});

test('a line longer than the limit is refused before it is held', async () => {
  async function* endless(): AsyncGenerator<Buffer> {
    for (;;) yield await Promise.resolve(Buffer.alloc(1_000, 0x61));
  }
  const reading = (async () => {
    for await (const line of linesOf(endless(), 5_000)) throw new Error(`line ${line.number} came`);
  })();
  await expect(reading).rejects.toThrow('Line 1 is longer than 5000 bytes');
});
