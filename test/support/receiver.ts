import pino from 'pino';
import { openBroker, type NatsBroker } from '../../src/broker';
import type { Config } from '../../src/config';
import type { Source } from '../../src/consumer';
import { CoreSource } from '../../src/consumer/coreSource';
import { ExhaustedLog } from '../../src/consumer/exhausted';
import { JetStreamSource } from '../../src/consumer/jetstreamSource';
import type { ReceiveResult } from '../../src/consumer/outcome';
import { receive } from '../../src/consumer/receive';
import type { Logger } from '../../src/logger';
import { FakeIntake } from './fakeIntake';
import type { Settings, TestOutbox } from './outbox';

/** The receiving half of a worker without Temporal: broker, source and an intake that does as it is told. */
export class Receiver {
  readonly intake = new FakeIntake();
  readonly stopping = new AbortController();
  readonly exhausted: ExhaustedLog;

  private constructor(
    readonly config: Config,
    readonly logs: { level: number; msg: string; [field: string]: unknown }[],
    readonly logger: Logger,
    readonly broker: NatsBroker,
    makeSource: (receiver: Receiver) => Source,
  ) {
    this.exhausted = new ExhaustedLog(logger);
    this.source = makeSource(this);
  }

  readonly source: Source;

  static async open(outbox: TestOutbox, settings: Settings = {}): Promise<Receiver> {
    const logs: Receiver['logs'] = [];
    const write = (line: string) => void logs.push(JSON.parse(line) as Receiver['logs'][number]);
    const logger = pino({ level: 'debug', base: null }, { write });
    const config = outbox.config(settings);
    const broker = await openBroker(config, logger);
    outbox.onClose(() => broker.close());
    const receiver = new Receiver(config, logs, logger, broker, ({ intake, stopping, exhausted }) => {
      const deps = { link: broker.link, config, intake, logger, stopping: stopping.signal, exhausted };
      return config.nats.mode === 'core' ? new CoreSource(deps) : new JetStreamSource(deps);
    });
    outbox.onClose(() => {
      receiver.stopping.abort();
      return receiver.source.close();
    });
    return receiver;
  }

  receive(signal = new AbortController().signal): Promise<ReceiveResult> {
    const { source, intake, config, stopping } = this;
    return receive({ source, intake, config, stopping: stopping.signal }, AbortSignal.any([signal, stopping.signal]));
  }

  /**
   * One receive after the other, until the returned function is called. Ends with the outbox as well: without a broker each
   * returns at once, and the loop of a test that forgot it would eat up the process of those after it.
   */
  keepReceiving(): () => Promise<ReceiveResult[]> {
    const end = new AbortController();
    const results: ReceiveResult[] = [];
    const loop = (async () => {
      while (!end.signal.aborted && !this.stopping.signal.aborted) results.push(await this.receive(end.signal));
      return results;
    })();
    return () => {
      end.abort();
      return loop;
    };
  }
}
