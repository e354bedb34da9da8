import type { Step } from '../../demo/client';
import { filmOf, personOf } from '../../src/domain/film';
import type { Phase } from '../../demo/replay';
import { apart, follow, put, registration, type Origins } from '../../demo/steps';

/** Of the reviews in it, fixed so that two runs have the same. */
const REVIEWS = {
  kept: '6f9f2f5c-0001-4000-8000-000000000001',
  deleted: '6f9f2f5c-0002-4000-8000-000000000002',
  theirs: '6f9f2f5c-0003-4000-8000-000000000003',
};
const IMPORT = '6f9f2f5c-0004-4000-8000-000000000004';
/** A film that stays, and its director. */
const FILM = filmOf(20, '12 Angry Men');
const DIRECTOR = personOf('Sidney Lumet');

/** A story in which every event of the application happens on the first instance, and every handler has something to do. */
export function everyEvent(origins: Origins): Phase[] {
  const review = (instance: Step['instance'], user: string, id: string, number: number, title: string): Step =>
    put(instance, `/users/${user}/reviews/${id}`, {
      film: { number, title },
      ...{ rating: 8, comment: 'Yes.', watchedOn: '2024-05-01' },
    });
  const remove = (instance: Step['instance'], path: string): Step => ({ instance, method: 'DELETE', path });
  const at = (uri: string) => encodeURIComponent(uri);
  const theirs = `${origins.second}/reviews/${REVIEWS.theirs}`;
  const kept = `${origins.first}/reviews/${REVIEWS.kept}`;
  const [jon, iris] = [`${origins.second}/users/jon`, `${origins.second}/users/iris`];
  const csv = 'Date,Name,Number,Rating,Comment\n2024-06-01,"Tora, Tora, Tora",14,9,\n2024-02-30,Nowhere,1,5,\n';
  const watched = { eventId: 'play-1', film: { number: 18, title: 'Darling Lili' }, watchedAt: '2024-05-01T20:00:00Z' };
  return [
    apart([
      ...['ada', 'bela'].map((name) => registration('first', name)),
      ...['iris', 'jon'].map((name) => registration('second', name)),
    ]),
    apart([follow('second', ['iris', 'ada'], origins.first), put('first', '/users/ada/follows/bela')]),
    apart([
      review('first', 'ada', REVIEWS.kept, FILM.number, FILM.title),
      review('first', 'ada', REVIEWS.deleted, 7, 'Following'),
    ]),
    // Apart from what followers are told: who follows first and who is told first would be chance.
    apart([follow('second', ['jon', 'ada'], origins.first), follow('first', ['ada', 'iris'], origins.second)]),
    apart([
      { instance: 'first', method: 'PATCH', path: `/users/ada/reviews/${REVIEWS.kept}`, body: { rating: 4 } },
      put('first', '/users/ada/watchlist/9', { title: 'Pirates' }),
      { instance: 'first', method: 'POST', path: `/users/ada/imports/${IMPORT}`, body: csv },
      { instance: 'first', method: 'POST', path: '/users/ada/webhooks/jellyfin', body: watched },
      put('first', '/films/by-number/1', { title: 'The Land Girls' }),
      remove('first', '/users/ada/follows/bela'),
    ]),
    apart([
      review('second', 'iris', REVIEWS.theirs, 5, 'Slam'),
      remove('first', '/users/ada/watchlist/9'),
      put('second', '/users/iris/likes', { review: kept }),
      { instance: 'first', method: 'POST', path: `/films/${FILM.id}/enrichment` },
      { instance: 'first', method: 'POST', path: `/people/${DIRECTOR.id}/enrichment` },
      registration('first', 'ada', ' Lovelace'),
    ]),
    apart([
      put('first', '/users/ada/likes', { review: theirs }),
      put('first', '/users/ada/announcements', { review: theirs }),
      put('first', '/users/ada/wrap-ups/2024'),
    ]),
    apart([
      remove('first', `/users/ada/likes?review=${at(theirs)}`),
      remove('first', `/users/ada/announcements?review=${at(theirs)}`),
      remove('first', `/users/ada/reviews/${REVIEWS.deleted}`),
    ]),
    apart([put('first', '/users/ada/blocks', { actor: jon })]),
    apart([
      remove('second', `/users/iris/reviews/${REVIEWS.theirs}`),
      remove('first', `/users/ada/blocks?actor=${at(jon)}`),
    ]),
    apart([
      remove('first', `/users/ada/remote-follows?actor=${at(iris)}`),
      put('first', '/users/ada/moved-to', { target: iris }),
    ]),
  ];
}
