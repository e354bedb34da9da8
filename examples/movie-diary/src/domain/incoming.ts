import { z } from 'zod';
import { comment, date, displayName, filmNumber, filmTitle, rating, uri, version } from '../events/fields';
import { Refusal } from './refusal';

/** What every activity has, known or not; what else it says depends on its type. */
const envelope = z.looseObject({ id: uri, type: z.string().min(1).max(64), actor: uri });

export type Incoming = z.infer<typeof envelope>;

const film = z.object({ number: filmNumber, title: filmTitle });
const object = <Schema extends z.ZodType>(schema: Schema) => z.object({ object: schema, version });

/** Of the activities that mean something here, by type. */
export const SHAPES = {
  note: object(
    z.object({
      id: uri,
      type: z.literal('Note'),
      attributedTo: uri,
      film,
      rating,
      comment,
      watchedOn: date,
      version,
    }),
  ),
  tombstone: object(z.object({ id: uri, type: z.literal('Tombstone'), version })),
  person: object(z.object({ id: uri, type: z.literal('Person'), name: displayName, movedTo: uri.nullish() })),
  film: object(film.extend({ type: z.literal('Film') })),
  uri: object(uri),
  follow: object(z.object({ type: z.literal('Follow'), actor: uri, object: uri, version })),
  move: object(uri).extend({ target: uri }),
  undo: object(envelope),
};

/** @throws Refusal when it is no activity, or one that cannot be stored */
export function readIncoming(body: unknown): Incoming {
  const { success, data } = envelope.safeParse(body);
  if (!success) throw new Refusal('invalid', 'An activity has an id, a type and an actor; id and actor are URLs');
  if (!isStorable(data, MAX_DEPTH))
    throw new Refusal(
      'invalid',
      `An activity is at most ${MAX_DEPTH} levels deep, and holds no NUL or half characters`,
    );
  return data;
}

/** @throws Refusal when it is not of this shape */
export function readAs<Schema extends z.ZodType>(shape: Schema, incoming: Incoming): z.infer<Schema> {
  const { success, data, error } = shape.safeParse(incoming);
  if (success) return data;
  const fields = error.issues.map(({ path }) => path.join('.')).join(', ');
  throw new Refusal('invalid', `This ${incoming.type} cannot be understood: look at ${fields}`);
}

/** The type of the object, where that is an object with one. */
export function objectType({ object }: Incoming): unknown {
  return typeof object === 'object' && object !== null && 'type' in object ? object.type : undefined;
}

const MAX_DEPTH = 20;

/** PostgreSQL refuses NUL and half of a surrogate pair, and what is nested too deep for its stack. */
function isStorable(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return false;
  return Object.entries(value).every(([key, inner]) => isStorable(key, depth) && isStorable(inner, depth - 1));
}
