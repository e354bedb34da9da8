import { sentenceOf } from './failure';

/** A part of what a verb shows: read, or with the reason why not. */
export type Half<T> = ({ readonly available: true } & T) | { readonly available: false; readonly reason: string };

/** A part that cannot be read says why, and leaves the others alone. */
export async function half<T>(read: () => Promise<T>): Promise<Half<T>> {
  try {
    return { available: true, ...(await read()) };
  } catch (error) {
    return { available: false, reason: sentenceOf(error) };
  }
}
