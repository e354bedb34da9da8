/** What a delivery's reply subject tells of it. */
export interface Delivery {
  readonly stream: string;
  readonly durable: string;
  readonly sequence: number;
  readonly deliveries: number;
  /** When the stream stored the message. */
  readonly at: Date;
}

/**
 * Reads `$JS.ACK.<stream>.<durable>.<deliveries>.<sequence>.<delivery sequence>.<nanoseconds>.<pending>`, or the longer
 * form, with domain and account before the stream. `undefined` for anything else.
 */
export function readReply(reply: string | undefined): Delivery | undefined {
  const tokens = reply?.split('.') ?? [];
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return undefined;
  const fields = tokens.length === 9 ? tokens.slice(2) : tokens.length >= 11 ? tokens.slice(4) : [];
  const [stream, durable, ...numbers] = fields;
  if (!stream || !durable || numbers.slice(0, 5).some((part) => !/^\d+$/.test(part))) return undefined;
  const [deliveries, sequence, , nanoseconds] = numbers;
  return {
    stream,
    durable,
    sequence: Number(sequence),
    deliveries: Number(deliveries),
    at: new Date(Number(nanoseconds) / 1_000_000),
  };
}

/** A reply subject that acknowledges a message which this worker did not receive. */
export function replyFor({ stream, durable, sequence }: Pick<Delivery, 'stream' | 'durable' | 'sequence'>): string {
  return `$JS.ACK.${stream}.${durable}.1.${sequence}.1.0.0`;
}
