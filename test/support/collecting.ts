import { Telemetry } from '../../src/telemetry/telemetry';
import { eventually } from './eventually';
import { samplesOf, total } from './metrics';
import type { HandlingOptions, InProcessWorker, Settings, TestOutbox } from './outbox';

type Labels = Readonly<Record<string, string>>;

/** A worker in this process whose metrics are read without a port; they stay when it has stopped. */
export class Collecting {
  private constructor(
    readonly worker: InProcessWorker,
    private readonly telemetry: Telemetry,
  ) {}

  static async start(outbox: TestOutbox, settings: Settings = {}, options: HandlingOptions = {}): Promise<Collecting> {
    const telemetry = new Telemetry(outbox.config(settings), 'collect');
    return new Collecting(await outbox.startWorker(settings, { ...options, telemetry }), telemetry);
  }

  /** Of all samples with these labels; NaN when there is none. */
  async total(name: string, labels: Labels = {}): Promise<number> {
    return total(samplesOf(await this.telemetry.text()), name, labels);
  }

  /** Resolves when a metric has come to a value. */
  async becomes(value: number, name: string, labels: Labels = {}): Promise<void> {
    await eventually(
      async () => {
        const seen = await this.total(name, labels);
        if (seen !== value) throw new Error(`it is ${seen}`);
        return true;
      },
      60_000,
      `${name}${JSON.stringify(labels)} = ${value}`,
    );
  }
}
