import { instanceOf, isOfInstance } from '../src/domain/instance';

it.each([
  ['https://there.example/users/anna', 'https://there.example'],
  ['https://there.example/diary/users/anna', 'https://there.example/diary'],
  ['https://there.example/users/users/anna', 'https://there.example/users'],
])('%s is an actor of %s', (actor, instance) => {
  expect(instanceOf(actor)).toBe(instance);
  expect(isOfInstance(`${instance}/reviews/1`, actor)).toBe(true);
});

it.each(['https://users/anna', 'https://users/users', 'https://there.example/anna', 'https://there.example'])(
  'an actor at %s speaks for no other host',
  (actor) => {
    expect(isOfInstance('https://victim.example/reviews/1', actor)).toBe(false);
    expect(isOfInstance('https://there.example.evil/reviews/1', actor)).toBe(false);
  },
);
