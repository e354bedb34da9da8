import { chosenFaults, FAULTS } from '../../torture/faults';
import type { Scene } from '../../torture/faults/fault';
import { planOf, textOf } from '../../torture/plan';
import { Random } from '../../torture/random';
import type { Backend } from '../../torture/world/world';

const scene = (backend: Backend): Scene => ({ backend, workers: 3, producers: 2, leaseMs: 5_000, short: true });

function plan(seed: number, steps: number, backend: Backend = 'nats', names: string[] = []) {
  const steady = planOf(new Random(seed), chosenFaults(names, backend), scene(backend));
  return Array.from({ length: steps }, () => steady.next().value);
}

it('one seed gives one plan, to the last number in it, and another seed another', () => {
  const texts = (seed: number) => plan(seed, 100).map(textOf);
  expect(texts(1)).toEqual(texts(1));
  expect(texts(1)).not.toEqual(texts(2));
});

it('each fault strikes once before one strikes again', () => {
  const first = plan(3, FAULTS.length).map(({ aims }) => aims[0]?.name);
  expect([...first].sort()).toEqual(FAULTS.map(({ name }) => name).sort());
});

it('without a broker nothing is done to it', () => {
  const names = plan(4, 200, 'db').flatMap(({ aims }) => aims.map(({ name }) => name));
  expect(names.filter((name) => /nats|stream/.test(name))).toEqual([]);
});

it('two faults that strike together concern different things', () => {
  const pairs = plan(5, 300)
    .map(({ aims }) => aims.map(({ name }) => name.split('-')[0]))
    .filter((nouns) => nouns.length > 1);
  expect(pairs.length).toBeGreaterThan(10);
  for (const [one, other] of pairs) expect(one).not.toBe(other);
});

it('no fault strikes together with one that would keep it from striking', () => {
  const needs = new Map(FAULTS.map(({ name, needs = [] }) => [name, needs]));
  const pairs = (['nats', 'db'] as const).flatMap((backend) => plan(6, 1_500, backend).map(({ aims }) => aims));
  const names = pairs.filter(({ length }) => length > 1).map((aims) => aims.map(({ name }) => name));
  for (const noun of ['stream-full', 'transaction-long']) expect(names.flat()).toContain(noun);
  const nouns = (all: readonly string[]) => all.map((name) => name.split('-')[0]);
  expect(
    names.filter((both) => both.some((name) => needs.get(name)?.some((noun) => nouns(both).includes(noun)))),
  ).toEqual([]);
});

it('a pair that cannot be leaves the rest of the plan as it is', () => {
  // Seeds stand in documents: a fault that is kept out of a pair must not make another plan of them.
  const first = plan(6, 400).map(({ aims, afterMs }) => [aims[0]?.what, afterMs]);
  const settled = planOf(
    new Random(6),
    chosenFaults([], 'nats').map((fault) => ({ ...fault, needs: [] })),
    scene('nats'),
  );
  const unrestricted = Array.from({ length: 400 }, () => settled.next().value);
  expect(unrestricted.filter(({ aims }) => aims.length > 1).length).toBeGreaterThan(
    plan(6, 400).filter(({ aims }) => aims.length > 1).length,
  );
  expect(unrestricted.map(({ aims, afterMs }) => [aims[0]?.what, afterMs])).toEqual(first);
});

it('a fault is chosen by its name or by what it is done to, and a stranger is refused with all that there are', () => {
  expect(chosenFaults(['worker', 'nats-kill'], 'nats').map(({ name }) => name)).toEqual([
    ...['worker-kill', 'worker-terminate', 'worker-freeze', 'worker-block', 'nats-kill'],
  ]);
  expect(() => chosenFaults(['earthquake'], 'db')).toThrow(/no fault "earthquake"; there are worker-kill, /);
});
