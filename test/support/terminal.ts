import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';

/** Stands for a terminal: remembers what was written to it. */
export class FakeTerminal extends Writable {
  readonly columns = 200;
  written = '';

  constructor(readonly isTTY = true) {
    super();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.written += chunk.toString();
    done();
  }

  /** What stands in its last line: all before the newest return to its beginning was written over. */
  get line(): string {
    const [last = ''] = this.written.split(/\u001b\[1G|\r/).slice(-1); // eslint-disable-line no-control-regex -- terminals are moved by it
    return stripVTControlCharacters(last);
  }
}
