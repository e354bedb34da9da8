import { CommandFailure } from './failure';

const NEWLINE = 0x0a;

/** One line of the input. */
export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  /** Bytes of the input up to the end of this line. */
  readonly offset: number;
}

/**
 * The lines of a stream of bytes, one at a time: what is held is one line, never the file. A byte order mark and
 * carriage returns at line ends are dropped; an end without a newline counts as a line, an empty one does not.
 *
 * @throws CommandFailure with the line's number for a line longer than `maxBytes`, or one that is not UTF-8
 */
export async function* linesOf(input: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Line> {
  // `fatal`: the default would put replacement characters into somebody's data.
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let pieces: Buffer[] = [];
  let held = 0;
  let number = 0;
  let offset = 0;

  const take = (): Line => {
    number++;
    const bytes = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
    pieces = [];
    held = 0;
    try {
      return { number, text: decoder.decode(bytes).replace(/\r$/, ''), offset };
    } catch (error) {
      throw new CommandFailure(`Line ${number} is not UTF-8 text.`, undefined, { cause: error });
    }
  };
  const hold = (piece: Buffer) => {
    held += piece.length;
    offset += piece.length;
    if (held > maxBytes) {
      throw new CommandFailure(
        `Line ${number + 1} is longer than ${maxBytes} bytes; one event stands on one line, ended by a newline.`,
      );
    }
    if (piece.length > 0) pieces.push(piece);
  };

  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      hold(chunk.subarray(start, end));
      offset++;
      yield take();
      start = end + 1;
    }
    hold(chunk.subarray(start));
  }
  if (held > 0) yield take();
}
