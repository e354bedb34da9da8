/**
 * What `nats <command> --help` of natscli 0.5.0 lists, without its global flags. It comes with Go or as a download of its
 * own, and in none of the registries that the tests fetch tools from, so its words stand here; each command that documents
 * and messages name was run with it against a server once. Made anew by hand with a newer one.
 */
// prettier-ignore
export const NATS_COMMANDS: Readonly<Record<string, { readonly arguments: number; readonly flags: string }>> = {
  'stream ls': { arguments: 0, flags: 'json names subject' },
  'stream info': { arguments: 1, flags: 'json no-select state' },
  'stream edit': { arguments: 1, flags: 'ack allow-batch allow-counter allow-direct allow-fast allow-mirror-direct allow-msg-ttl allow-rollup allow-schedules cluster compression config deny-delete deny-purge description discard discard-per-subject dry-run dupe-window force interactive json max-age max-bytes max-consumers max-msg-size max-msgs max-msgs-per-subject metadata mirror no-ack no-allow-batch no-allow-direct no-allow-fast no-allow-mirror-direct no-allow-rollup no-allow-schedules no-deny-delete no-deny-purge no-discard-per-subject no-interactive no-mirror no-republish no-transform replicas republish-destination republish-headers republish-source retention source subject-del-markers-ttl subjects tag transform-destination transform-source' },
  'stream get': { arguments: 2, flags: 'json last-for translate' },
  'consumer add': { arguments: 2, flags: 'ack backoff backoff-max backoff-min backoff-steps bps config defaults deliver deliver-group description ephemeral filter flow-control headers-only heartbeat inactive-threshold max-deliver max-pending max-pull-batch max-pull-bytes max-pull-expire max-waiting memory metadata no-headers-only output overflow-groups pause pinned-groups pinned-ttl prioritized-groups pull replay replicas sample target validate wait' },
  'consumer edit': { arguments: 2, flags: 'backoff backoff-max backoff-min backoff-steps config description dry-run filter force headers-only inactive-threshold interactive max-deliver max-pending max-pull-batch max-pull-bytes max-pull-expire metadata no-headers-only no-interactive replicas sample target wait' },
  'consumer rm': { arguments: 2, flags: 'force' },
  'consumer info': { arguments: 2, flags: 'json no-select' },
  'consumer ls': { arguments: 1, flags: 'json names no-select' },
  'consumer resume': { arguments: 2, flags: 'force' },
};

/** @param words what follows `nats`; a part that is filled in when the program runs is `<…>` @returns what is wrong with it */
export function wrongWithNats(words: readonly string[]): string | undefined {
  const name = words.slice(0, 2).join(' ');
  const command = NATS_COMMANDS[name];
  if (!command) return `nats ${name} is not in test/support/natsCommand.ts`;
  const rest = words.slice(2);
  const known = command.flags.split(' ').map((flag) => `--${flag}`);
  const unknown = rest.find((word) => word.startsWith('-') && !known.includes(word.replace(/=[^]*/, '')));
  if (unknown !== undefined) return `nats ${name} knows no ${unknown}`;
  // All values of flags are written with `=`.
  const given = rest.filter((word) => !word.startsWith('-')).length;
  return given > command.arguments ? `nats ${name} takes ${command.arguments} arguments, and not ${given}` : undefined;
}
