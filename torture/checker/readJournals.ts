import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HandlerLine, History, OperatorLine, ProducerLine, Standstill } from './history';

/** Everything that workers, producers and operators wrote down. */
export function readJournals(directory: string): Pick<History, 'handlers' | 'producers' | 'operators' | 'standstills'> {
  const handlers: HandlerLine[] = [];
  const producers: ProducerLine[] = [];
  const operators: OperatorLine[] = [];
  const standstills: Standstill[] = [];
  for (const name of readdirSync(directory)) {
    for (const line of linesOf(join(directory, name))) {
      if (name.startsWith('producer')) producers.push(line as ProducerLine);
      else if (name.startsWith('operator')) operators.push(line as OperatorLine);
      else if ((line as { kind: string }).kind === 'still') standstills.push(line as Standstill);
      else handlers.push(line as HandlerLine);
    }
  }
  handlers.sort((a, b) => a.at - b.at);
  operators.sort((a, b) => a.from - b.from);
  return { handlers, producers, operators, standstills };
}

/** A process that was killed may have left half a line at its end: what it was about did not happen yet. */
function linesOf(file: string): unknown[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line) as unknown);
}
