import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { catalogue, type Catalogue } from './catalogue';
import { fateOf, USUAL_FAULTS, type Fate, type Faults } from './faults';
import { posterImage } from './posterImage';

type Kind = 'film' | 'person' | 'poster';
/** `unknown`: 404. The others were made to fail. */
type Outcome = 'answered' | 'unknown' | Exclude<Fate, 'answer'>;
export type ProviderCalls = Record<Kind, Record<Outcome, number>>;

export interface MetadataProviderOptions extends Partial<Faults> {
  readonly seed?: number;
  /** Posters are named by it: one that is started anew must have the same. Default: a free one. */
  readonly port?: number;
  /** Where it listens. Default: 127.0.0.1. */
  readonly host?: string;
  /** What posters are named by, where others reach it at another address than its own. */
  readonly url?: string;
}

export interface MetadataProviderServer {
  readonly url: string;
  readonly calls: Readonly<ProviderCalls>;
  /** For all calls from now on. */
  fail(faults: Partial<Faults>): void;
  close(): Promise<void>;
}

interface Answer {
  readonly type: string;
  readonly body: string;
}

/**
 * A metadata provider as one meets them: it knows the films of `vega-datasets`, takes its time, answers some calls with
 * 503 and some not at all. With the same seed the same calls fail.
 */
export async function startMetadataProvider(options: MetadataProviderOptions = {}): Promise<MetadataProviderServer> {
  const { seed = 20_260_103, port = 0, host = '127.0.0.1', url: givenUrl, ...given } = options;
  let faults: Faults = { ...USUAL_FAULTS, ...given };
  const known = catalogue();
  const counted = () => ({ answered: 0, unknown: 0, unavailable: 0, reset: 0 });
  const calls: ProviderCalls = { film: counted(), person: counted(), poster: counted() };
  const callsOfPath = new Map<string, number>();

  async function serve(path: string, response: ServerResponse): Promise<void> {
    const asked = subjectOf(path);
    if (!asked) return void response.writeHead(404).end();
    const { kind, subject } = asked;
    const call = (callsOfPath.get(path) ?? 0) + 1;
    callsOfPath.set(path, call);
    const { fate, delayMs } = fateOf(faults, seed, path, call);
    await sleep(delayMs);
    const answer = fate === 'answer' ? answerOf(kind, subject, known, url) : undefined;
    calls[kind][fate !== 'answer' ? fate : answer ? 'answered' : 'unknown']++;
    if (fate === 'reset') response.socket?.resetAndDestroy();
    else if (fate === 'unavailable') response.writeHead(503).end('try again later');
    else if (!answer) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': answer.type }).end(answer.body);
  }

  const server = createServer((request, response) => {
    serve(request.url ?? '', response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const url = givenUrl ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ url, calls },
    fail: (some) => (faults = { ...faults, ...some }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const PATHS: readonly [RegExp, Kind][] = [
  [/^\/films\/(\d{1,9})$/, 'film'],
  [/^\/people\/([^/]+)$/, 'person'],
  [/^\/posters\/(\d{1,9})\.svg$/, 'poster'],
];

function subjectOf(path: string): { kind: Kind; subject: string } | undefined {
  for (const [pattern, kind] of PATHS) {
    const subject = pattern.exec(path)?.[1];
    if (subject !== undefined) return { kind, subject: decodeURIComponent(subject) };
  }
  return undefined;
}

function answerOf(kind: Kind, subject: string, known: Catalogue, url: string): Answer | undefined {
  const json = (body: object): Answer => ({ type: 'application/json', body: JSON.stringify(body) });
  if (kind === 'person') {
    const films = known.filmsBy(subject);
    return films === undefined ? undefined : json({ name: subject, films });
  }
  const number = Number(subject);
  const film = known.film(number);
  if (!film) return undefined;
  if (kind === 'poster') return { type: 'image/svg+xml', body: posterImage(number) };
  return json({ number, ...film, posterUrl: `${url}/posters/${number}.svg` });
}
