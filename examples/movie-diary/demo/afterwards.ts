import type { Step } from './client';
import type { KeptReview } from './diary';
import * as people from './people';
import type { Phase } from './replay';
import { apart, put, type Origins } from './steps';

/** Reviews of each who is followed that are liked, and some of them announced. */
const LIKED = 6;
/** Every so many likes are taken back. */
const TAKEN_BACK = 3;

/** What needs the reviews to have arrived at the other instance. */
export function reactionsOf(kept: readonly KeptReview[], own: readonly KeptReview[], origins: Origins): Phase {
  const uriOf = (origin: string) => (review: KeptReview) => `${origin}/reviews/${review.id}`;
  const liked = [...people.FOLLOWED_EARLY, ...people.FOLLOWED_LATE].map(([reader, reviewer]) => {
    const reviews = kept.filter(({ user }) => user === reviewer).slice(0, LIKED);
    return reviews.map(uriOf(origins.first)).flatMap((review, index) => reactions('second', reader, review, index));
  });
  const [admirer, admired] = people.FOLLOWS_BACK;
  const back = own
    .filter(({ user }) => user === admired)
    .slice(0, LIKED)
    .map(uriOf(origins.second))
    .flatMap((review, index) => reactions('first', admirer, review, index));
  return [...liked, back];
}

/** How some relations end, and what sums the year up. */
export function endingsOf(origins: Origins): Phase {
  const [unfollower, unfollowed] = people.UNFOLLOWS;
  const [blocker, blocked] = people.BLOCKS;
  const path = (user: string, what: string, actor: string) =>
    `/users/${user}/${what}?actor=${encodeURIComponent(actor)}`;
  return apart([
    {
      instance: 'second',
      method: 'DELETE',
      path: path(unfollower, 'remote-follows', `${origins.first}/users/${unfollowed}`),
    },
    put('first', `/users/${blocker}/blocks`, { actor: `${origins.second}/users/${blocked}` }),
    put('first', `/users/${people.MOVES}/moved-to`, { target: `${origins.second}/users/leo` }),
    ...people.REVIEWERS.map((name) => put('first', `/users/${name}/wrap-ups/${people.YEAR}`)),
  ]);
}

function reactions(instance: Step['instance'], user: string, review: string, index: number): Step[] {
  const like = `/users/${user}/likes`;
  const steps = [put(instance, like, { review })];
  if (index % TAKEN_BACK === 0)
    steps.push({ instance, method: 'DELETE', path: `${like}?review=${encodeURIComponent(review)}` });
  else if (index % 2 === 0) steps.push(put(instance, `/users/${user}/announcements`, { review }));
  return steps;
}
