import type { Backend } from '../world/world';
import { clockMoved } from './clock';
import type { Fault } from './fault';
import { transactionLong } from './longTransaction';
import { networkFaults } from './network';
import { operatorPause, operatorPrune, operatorReemit } from './operator';
import { privilegesTaken } from './privileges';
import { producerKill } from './producer';
import { databaseReadOnly } from './readOnly';
import { serverFaults } from './server';
import { streamFull } from './streamFull';
import { workerBlock, workerFreeze, workerKill, workerTerminate } from './worker';

export const FAULTS: readonly Fault[] = [
  ...[workerKill, workerTerminate, workerFreeze, workerBlock, producerKill],
  ...serverFaults,
  ...networkFaults,
  ...[streamFull, privilegesTaken, databaseReadOnly, transactionLong, clockMoved],
  ...[operatorReemit, operatorPrune, operatorPause],
];

/** What a fault is done to: of two that strike together each has another. */
export function nounOf({ name }: Fault): string {
  return name.split('-')[0] ?? name;
}

/**
 * @param names of faults, or what they are done to (`worker`, `network`); all when none is given
 * @throws Error for a name that is none
 */
export function chosenFaults(names: readonly string[], backend: Backend): Fault[] {
  const stranger = names.find((name) => !FAULTS.some((fault) => fault.name === name || nounOf(fault) === name));
  if (stranger !== undefined) {
    const known = FAULTS.map(({ name }) => name).join(', ');
    throw new Error(`there is no fault "${stranger}"; there are ${known}, and what stands before each hyphen`);
  }
  return FAULTS.filter(
    (fault) =>
      (fault.backend ?? backend) === backend &&
      (names.length === 0 || names.includes(fault.name) || names.includes(nounOf(fault))),
  );
}
