import { temporal } from '@temporalio/proto';
import { readFileSync, writeFileSync } from 'node:fs';
import { testEnvironment } from '../support/environment';

const { History } = temporal.api.history.v1;

/**
 * A history as JSON in protobuf's own object form, one event a line, not in that of `temporal workflow show`: SDK 1.24
 * cannot read or write the latter while npm installs its protobufjs twice ("type must be a Type").
 */
export function writeHistory(file: string, history: temporal.api.history.v1.IHistory): void {
  const plain = History.toObject(History.fromObject(history), { enums: String, longs: String, bytes: String });
  const lines = (plain.events as unknown[]).map((event) => JSON.stringify(event));
  // Stack traces name the recorder's directory, and the one that its workflows were bundled into.
  const text = `{"events":[\n${lines.join(',\n')}\n]}\n`;
  writeFileSync(file, text.replaceAll(`${process.cwd()}/`, '').replaceAll(`${testEnvironment().directory}/`, ''));
}

export function readHistory(file: string): temporal.api.history.v1.IHistory {
  return History.fromObject(JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>);
}

/** The type of the workflow that the history is of. */
export function workflowTypeOf(history: temporal.api.history.v1.IHistory): string {
  return history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? 'unknown';
}
