import type { History } from './history';

/** What was done to the world, for the story: the checker itself does not judge by it. */
export interface Happening {
  readonly from: number;
  readonly to: number;
  readonly what: string;
}

/** Everything that is known of one event, in the order of time where there is a time. */
export function storyOf(eventId: string, history: History, happenings: readonly Happening[], start: number): string[] {
  const of = <T extends { readonly eventId: string }>(rows: readonly T[]) =>
    rows.filter((row) => row.eventId === eventId).map((row) => JSON.stringify({ ...row, eventId: undefined }));
  const timed = [
    ...history.producers
      .filter(({ ids }) => ids.includes(eventId))
      .map(({ kind, at }) => ({ at, text: `its transaction: ${kind}` })),
    ...history.stream
      .filter((message) => message.eventId === eventId)
      .map(({ at, sequence }) => ({ at, text: `stored in the stream at ${sequence}` })),
    ...history.removed
      .filter((row) => row.eventId === eventId)
      .map(({ at, ...row }) => ({
        at,
        text: `removed from the outbox ${JSON.stringify({ ...row, eventId: undefined })}`,
      })),
    ...history.handlers
      .filter((line) => line.eventId === eventId)
      .map(({ kind, handler, attempt, pid, at, reason }) => ({
        at,
        text: `${handler} ${kind}, attempt ${attempt}, process ${pid}${reason === undefined ? '' : ` (${reason})`}`,
      })),
  ];
  const pids = new Set(history.handlers.filter((line) => line.eventId === eventId).map(({ pid }) => pid));
  for (const [pid, { at, killed }] of history.deaths)
    if (pids.has(pid)) timed.push({ at, text: `process ${pid} ${killed ? 'was killed' : 'ended'}` });
  for (const { pid, from, to } of history.standstills)
    if (pids.has(pid)) timed.push({ at: from, text: `process ${pid} stood still for ${Math.round(to - from)} ms` });
  const first = Math.min(...timed.map(({ at }) => at)) - 10_000;
  const last = Math.max(...timed.map(({ at }) => at)) + 10_000;
  for (const { from, to, args, code } of history.operators)
    if (to >= first && from <= last)
      timed.push({
        at: from,
        text: `> outbox ${args.join(' ')}, for ${Math.round(to - from)} ms, exit ${code ?? 'none'}`,
      });
  for (const { from, to, what } of happenings)
    if (to >= first && from <= last) timed.push({ at: from, text: `* ${what}, for ${Math.round(to - from)} ms` });
  return [
    `event ${eventId}`,
    ...of(history.business).map((row) => `  business ${row}`),
    ...of(history.queue).map((row) => `  outbox   ${row}`),
    ...of(history.ledger).map((row) => `  ledger   ${row}`),
    ...of(history.deliveries).map((row) => `  delivery ${row}`),
    ...of(history.effects).map((row) => `  effect   ${row}`),
    ...timed
      .sort((a, b) => a.at - b.at)
      .map(({ at, text }) => `  ${((at - start) / 1_000).toFixed(3).padStart(9)} s  ${text}`),
  ];
}
