/** A server that this module started, or one that was given by its URL and is left alone. */
export interface Server {
  readonly url: string;
  /** Undefined while it is not running, and for a given URL. */
  readonly pid: number | undefined;
  /** False for a given URL: then `stop`, `kill` and `start` do nothing, since the server is not ours. */
  readonly started: boolean;
  /** Asks for an orderly end, and ends it hard after 10 s. */
  stop(): Promise<void>;
  /** Sends the signal to the server's process; SIGKILL goes to its whole tree and resolves when all of it is gone. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same port and data. Resolves when it answers. */
  start(): Promise<void>;
}

/** One line for the person who waits: what is fetched, started, or found left over. */
export type Log = (line: string) => void;

export const silent: Log = () => undefined;

/** A server that someone else runs. */
export function givenServer(url: string): Server {
  const leaveAlone = () => Promise.resolve();
  return { url, pid: undefined, started: false, stop: leaveAlone, kill: leaveAlone, start: leaveAlone };
}
