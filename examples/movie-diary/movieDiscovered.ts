import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';

/** One film as the event carries it. What every film has is typed; the data set's record is kept as it is. */
export const filmSchema = z.object({
  /** Its place in the data set, from 1: the only thing that every film has. */
  number: z.int().positive(),
  title: z.string().nullable(),
  releaseDate: z.iso.date().nullable(),
  /** Fields are missing, titles are numbers, dates lie in the future. */
  record: z.record(z.string(), z.unknown()),
});

export type Film = Readonly<z.infer<typeof filmSchema>>;

/**
 * A film was found in the data set. Producer and handlers share this definition: a payload that does not fit is refused
 * at enqueue, and a handler's payload has its type from here.
 */
export const MovieDiscovered = defineEvent('MovieDiscovered', { aggregateType: 'movie', schema: filmSchema });
