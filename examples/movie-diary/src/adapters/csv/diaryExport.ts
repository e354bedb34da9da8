import { CsvError, parse } from 'csv-parse/sync';
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { DiaryFile, DiaryRow, RefusedRow } from '../../domain/diaryImport';
import { Refusal } from '../../domain/refusal';
import { comment, date, filmNumber, filmTitle, rating } from '../../events/fields';

/** All rows are one transaction: a limit on how long it holds the locks of its films. */
export const MAX_ROWS = 1_000;

const NEEDED = ['date', 'name', 'number', 'rating'] as const;

const whole = z
  .string()
  .regex(/^\d{1,10}$/)
  .transform(Number);
const row = z.object({
  date,
  name: filmTitle,
  number: whole.pipe(filmNumber),
  rating: whole.pipe(rating),
  comment: comment.default(null).transform((text) => text || null),
});

const ALLOWED: Record<string, string> = {
  date: 'a day that exists, as YYYY-MM-DD',
  name: 'a title of 1 to 500 characters',
  number: 'a whole number above 0',
  rating: 'a whole number from 1 to 10',
  comment: 'at most 5000 characters',
};

interface Parsed {
  readonly record: Record<string, string>;
  readonly info: { readonly lines: number; readonly error?: unknown };
}

/**
 * The diary of a film site as it exports it: a header line with Date, Name, Number, Rating and, if it likes, Comment; other
 * columns are ignored. A row that is no review is refused alone; what is not read as such a file is refused whole.
 *
 * @throws Refusal
 */
export function readDiaryExport(bytes: Buffer): DiaryFile {
  const parsed = parsedRows(bytes);
  if (parsed.length > MAX_ROWS)
    throw new Refusal('invalid', `The file has ${parsed.length} rows; at most ${MAX_ROWS} can be imported at once`);
  const [rows, refused]: [DiaryRow[], RefusedRow[]] = [[], []];
  for (const { record, info } of parsed) {
    const line = info.lines;
    const { success, data, error } = row.safeParse(record);
    // A comma in a comment without quotes would cut it short in silence.
    if (info.error) refused.push({ line, reason: 'It has not as many fields as the header' });
    else if (!success) refused.push({ line, reason: reasonOf(error) });
    else {
      const film = { number: data.number, title: data.name };
      rows.push({ line, film, rating: data.rating, comment: data.comment, watchedOn: data.date });
    }
  }
  return { sha256: createHash('sha256').update(bytes).digest('hex'), rows, refused };
}

function parsedRows(bytes: Buffer): Parsed[] {
  if (!isUtf8(bytes)) throw new Refusal('invalid', 'The file is no text in UTF-8');
  let hasHeader = false;
  try {
    const parsed = parse(bytes, {
      bom: true,
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
      columns: (header: string[]) => {
        hasHeader = true;
        return columns(header);
      },
    }) as unknown as Parsed[];
    if (!hasHeader) throw new Refusal('invalid', 'The file is empty');
    return parsed;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // What follows the colon may be the field's own text.
    const [reason = ''] = error.message.split(':');
    throw new Refusal('invalid', `The file is no CSV: ${reason.toLowerCase()}, line ${Number(error.lines)}`);
  }
}

function columns(header: readonly string[]): string[] {
  const names = header.map((name) => name.trim().toLowerCase());
  const missing = NEEDED.filter((name) => !names.includes(name));
  if (missing.length > 0) throw new Refusal('invalid', `The header line lacks the columns ${missing.join(', ')}`);
  if (new Set(names).size < names.length) throw new Refusal('invalid', 'The header line names a column twice');
  return names;
}

/** Names the field and not its value: comments are nobody else's business. */
function reasonOf(error: z.ZodError): string {
  const fields = new Set(error.issues.map(({ path }) => String(path[0])));
  return [...fields].map((field) => `${field} must be ${ALLOWED[field] ?? 'given'}`).join('; ');
}
