import { randomUUID } from 'node:crypto';
import type { Repositories } from '../../src/adapters/postgres/repositories';
import { logReview } from '../../src/useCases/logReview';
import { newUser } from './newUser';

let films = 0;

/** A film that nobody has seen yet. */
export function newFilm() {
  films += 1;
  return { number: films, title: `Film ${films}` };
}

/** The first of a film that nobody has seen yet. */
export async function newReview(stored: Repositories) {
  const { id: userId } = await newUser(stored);
  const film = newFilm();
  const review = { reviewId: randomUUID(), userId, film, rating: 7, comment: 'Fine', watchedOn: '2024-02-01' };
  await logReview(stored.reviews, review);
  return review;
}
