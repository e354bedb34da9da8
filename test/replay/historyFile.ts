import { temporal } from '@temporalio/proto';
import { readFileSync, writeFileSync } from 'node:fs';

const { History } = temporal.api.history.v1;

/**
 * A history as JSON in protobuf's own object form, not in that of `temporal workflow show`: SDK 1.24 cannot read or
 * write the latter while npm installs its protobufjs twice ("type must be a Type").
 */
export function writeHistory(file: string, history: temporal.api.history.v1.IHistory): void {
  const plain = History.toObject(History.fromObject(history), { enums: String, longs: String, bytes: String });
  // Stack traces name the recorder's directory.
  writeFileSync(file, `${JSON.stringify(plain, null, 1).replaceAll(`${process.cwd()}/`, '')}\n`);
}

export function readHistory(file: string): temporal.api.history.v1.IHistory {
  return History.fromObject(JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>);
}
