import type { Config } from '../config';
import type { Logger } from '../logger';
import { maskUrl } from '../mask';
import { whyRefused } from './refusal';

/** Tells why there is no broker: once for each reason, so that an outage is one line and not one for each look. */
export class OutageLog {
  /** The last, in a sentence. */
  reason: string;
  private readonly server: string;
  private said: string | undefined;
  private closed = false;

  constructor(
    private readonly nats: Config['nats'],
    private readonly logger: Logger,
  ) {
    this.server = maskUrl(nats.url);
    this.reason = `not connected to NATS at ${this.server} yet`;
  }

  say(reason: string): void {
    this.reason = reason;
    if (reason === this.said || this.closed) return;
    this.said = reason;
    this.logger.warn(`${reason}; events wait until it answers, and no attempt is spent`);
  }

  /** A server that was reached and cannot be worked with. */
  unusable(error: unknown): void {
    const refused = whyRefused(error, this.nats);
    const { message, name, code } = error as NodeJS.ErrnoException;
    // In TLS 1.3 a server judges a client's certificate last, and may only hang up; so does one that is on its way down.
    const hungUp = code === 'ECONNRESET' || code === 'EPIPE' || name === 'TimeoutError';
    const hint =
      hungUp && this.nats.tlsCaFile
        ? '; if that goes on, it may demand another client certificate: check NATS_TLS_CERT and NATS_TLS_KEY'
        : '';
    this.say(`NATS at ${this.server} ${refused ?? `cannot be used (${message.trim()}${hint})`}`);
  }

  over(): void {
    if (this.said !== undefined) this.logger.info(`NATS at ${this.server} answers again`);
    this.said = undefined;
  }

  /** Nothing more is told. */
  close(): void {
    this.closed = true;
  }
}
