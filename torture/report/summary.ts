import { grouped } from '../checker/byEvent';
import type { Figures } from './figures';
import { recoveryTableOf } from './table';

/** Over all storms of a backend. */
export function summaryOf(storms: readonly Figures[]): string {
  const sum = (of: (figures: Figures) => number) => storms.reduce((total, figures) => total + of(figures), 0);
  const seedsOf = (wanted: Figures['verdict']) =>
    storms.filter(({ verdict }) => verdict === wanted).map(({ seed }) => seed);
  const [violated, unproven] = [seedsOf('violated'), seedsOf('unproven')];
  const failed = sum(({ failed }) => failed.reduce((total, { times }) => total + times, 0));
  const faults = sum((figures) => Object.values(figures.faults).reduce((total, times) => total + times, 0));
  const recovery = grouped(
    storms.flatMap((figures) => figures.recovery),
    ({ fault }) => fault,
  );
  return [
    `${storms[0]?.backend}: ${storms.length} storms, ${(sum(({ seconds }) => seconds) / 60).toFixed(0)} minutes, ${faults} faults and ${failed} that failed, ${sum(({ events }) => events)} events, ${sum(({ handlings }) => handlings)} handlings, ${sum(({ duplicatesInTheStream }) => duplicatesInTheStream)} duplicates in the stream, ${sum(({ repeatedExternalEffects }) => repeatedExternalEffects)} repeated external effects`,
    ...(violated.length > 0 ? [`violated with seeds ${violated.join(', ')}`] : []),
    ...(unproven.length > 0 ? [`nothing is proven by seeds ${unproven.join(', ')}`] : []),
    ...(violated.length + unproven.length === 0 ? ['all clean'] : []),
    '',
    recoveryTableOf(
      [...recovery].map(([fault, all]) => ({
        fault,
        times: all.reduce((total, { times }) => total + times, 0),
        flowMs: all.flatMap(({ flowMs }) => flowMs),
        caughtUpMs: all.flatMap(({ caughtUpMs }) => caughtUpMs),
      })),
    ),
  ].join('\n');
}
