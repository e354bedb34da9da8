import type { WriteStream } from 'node:tty';

const HOME = '\u001b[H';
const TO_END_OF_LINE = '\u001b[K';
const TO_END_OF_SCREEN = '\u001b[J';
const BEGIN = '\u001b[2J\u001b[?25l\u001b[?7l';
const END = '\u001b[?7h\u001b[?25h\n';

/**
 * A terminal that shows one page again and again, over the one before: each look is a single write and nothing is cleared
 * first, so nothing flickers. Lines that are too long are cut, and what is below the last line is left out, since either
 * would make the page scroll.
 */
export class Screen {
  private begun = false;

  constructor(private readonly out: Pick<WriteStream, 'write' | 'rows'>) {}

  show(page: string): void {
    // Asked each time: the window may have become another size.
    const lines = page.split('\n').slice(0, Math.max(1, (this.out.rows || 24) - 1));
    const text = lines.map((line) => `${line}${TO_END_OF_LINE}\n`).join('');
    this.out.write(`${this.begun ? '' : BEGIN}${HOME}${text}${TO_END_OF_SCREEN}`);
    this.begun = true;
  }

  /** Gives the cursor back. */
  close(): void {
    if (this.begun) this.out.write(END);
  }
}
