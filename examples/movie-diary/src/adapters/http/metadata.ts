import { z } from 'zod';
import { date, distributor, genre, personName, uri } from '../../events/fields';
import type { FilmRecord, ImageRecord, MetadataProvider, PersonRecord } from '../../ports/metadata';
import { exchange, type Exchanged } from './exchange';

const TIMEOUT_MS = 10_000;
const MAX_RECORD_BYTES = 100_000;
/** Far above any poster; originals are held in memory. */
const MAX_IMAGE_BYTES = 10_000_000;

const film = z.object({
  releasedOn: date.nullable(),
  genre: genre.nullable(),
  distributor: distributor.nullable(),
  director: personName.nullable(),
  posterUrl: uri.nullable(),
});
const person = z.object({ films: z.int().nonnegative().max(2_147_483_647) });

export class HttpMetadataProvider implements MetadataProvider {
  private readonly url: string;

  constructor(url: string) {
    this.url = url.replace(/\/+$/, '');
  }

  film(number: number, signal: AbortSignal): Promise<FilmRecord | undefined> {
    return this.record(film, `/films/${number}`, `film ${number}`, signal);
  }

  person(name: string, signal: AbortSignal): Promise<PersonRecord | undefined> {
    return this.record(person, `/people/${encodeURIComponent(name)}`, 'a person', signal);
  }

  async image(url: string, signal: AbortSignal): Promise<ImageRecord | undefined> {
    const answer = await ask(url, 'an image', MAX_IMAGE_BYTES, signal);
    if (!answer) return undefined;
    const contentType = answer.headers.get('content-type') ?? '';
    // A page that says sorry with a 200 must not become a poster.
    if (!/^image\//i.test(contentType) || answer.body.length === 0)
      throw new Error('The metadata provider, asked for an image, answered with something else');
    return { contentType, body: answer.body };
  }

  private async record<T>(
    schema: z.ZodType<T>,
    path: string,
    what: string,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const answer = await ask(`${this.url}${path}`, what, MAX_RECORD_BYTES, signal);
    if (!answer) return undefined;
    const { data, error } = schema.safeParse(parsed(answer.body));
    if (data) return data;
    const problems = error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    throw new Error(`The metadata provider, asked for ${what}, gave an answer of another shape: ${problems}`);
  }
}

async function ask(url: string, what: string, maxBytes: number, signal: AbortSignal): Promise<Exchanged | undefined> {
  const answer = await exchange(
    `The metadata provider, asked for ${what},`,
    (bounded) => fetch(url, { signal: bounded, redirect: 'error' }),
    { timeoutMs: TIMEOUT_MS, maxBytes, signal },
  );
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw new Error(`The metadata provider, asked for ${what}, answered ${answer.status}`);
  return answer;
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
