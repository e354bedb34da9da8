import sequencer from '@jest/test-sequencer';

/**
 * The files that take longest, the longest first, in some order of what they took. Begun last, one of them would run alone
 * at the end, with a core idle. Jest knows durations only where it ran before, which it never did on a fresh clone: there
 * it goes by the size of a file, and a storm is a short one.
 */
const LONG = `
  movie-diary/test/chaos movie-diary/test/handlers torture/storm crash/ integration/image model/model
  start workers ledger handlingRetries reemitAll deliveryRuns handlingInterruptions handlingDeferrals handlerVersions reemitHandled
  metricsHandling control consumerJetstream reconcile traces cli publishing metricsBroker consumerWorkflow secureNats
  cliDeliveries handling handlingLostClaims brokerOutage handlingTransactions versioning deliveryRun secrets endings
  maintenance temporalUi`
  .trim()
  .split(/\s+/);

const rankOf = ({ path }) => {
  const name = path.replaceAll('\\', '/');
  const rank = LONG.findIndex((part) => name.includes(part.includes('/') ? `/${part}` : `/integration/${part}.test.`));
  return rank < 0 ? LONG.length : rank;
};

// A CommonJS module, whose default Node does not unwrap.
export default class LongFirst extends (sequencer.default ?? sequencer) {
  sort(tests) {
    return super.sort(tests).sort((one, other) => rankOf(one) - rankOf(other));
  }
}
