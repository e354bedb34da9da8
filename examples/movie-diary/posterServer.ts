import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { PosterLog, PosterOrder } from './posterLog';
import { seeded } from './seeded';

/** Calls by what became of them. */
export interface PosterCalls {
  all: number;
  /** Answered with 503, on purpose. */
  unavailable: number;
  /** Not answered, on purpose; some of them had their effect. */
  unanswered: number;
  /** Answered with 422. */
  refused: number;
  /** Answered with 200 and without a second effect, as their key had its effect before. */
  repeated: number;
}

export interface PosterServer {
  readonly url: string;
  readonly calls: Readonly<PosterCalls>;
  close(): Promise<void>;
}

const SEED = 20_260_103;
const UNAVAILABLE = 0.03;
const UNANSWERED = 0.01;

type Fate = 'answer' | 'unavailable' | 'hang before the effect' | 'hang after the effect';

/** By film and number of the call, so that the same calls fail in each run, in whatever order they come. */
function fateOf(film: number, call: number): Fate {
  const chance = seeded(SEED ^ Math.imul(film, 0x9e3779b1) ^ Math.imul(call, 0x85ebca6b))();
  if (chance < UNAVAILABLE) return 'unavailable';
  if (chance < UNAVAILABLE + UNANSWERED / 2) return 'hang before the effect';
  return chance < UNAVAILABLE + UNANSWERED ? 'hang after the effect' : 'answer';
}

/**
 * A poster service as one meets them: 3 calls of 100 get a 503, 1 of 100 no answer at all, and a film without a title is
 * refused until somebody gives it one. It honours `Idempotency-Key`: one effect for a key, however often it is called.
 */
export async function startPosterServer(log: PosterLog): Promise<PosterServer> {
  const calls: PosterCalls = { all: 0, unavailable: 0, unanswered: 0, refused: 0, repeated: 0 };
  const done = new Set(log.read().map(({ key }) => key));
  const callsOfKey = new Map<string, number>();
  const titles = new Map<number, string>();

  async function order(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const key = String(request.headers['idempotency-key']);
    const { film, title, eventId } = JSON.parse(await text(request)) as PosterOrder & { title: string | null };
    const call = (callsOfKey.get(key) ?? 0) + 1;
    callsOfKey.set(key, call);
    calls.all++;
    if (done.has(key)) {
      calls.repeated++;
      response.end('ordered before');
      return;
    }
    if ((title ?? titles.get(film)) === undefined) {
      calls.refused++;
      response.writeHead(422).end(`film ${film} has no title to print`);
      return;
    }
    const fate = fateOf(film, call);
    if (fate === 'unavailable') {
      calls.unavailable++;
      response.writeHead(503).end('try again later');
      return;
    }
    if (fate !== 'hang before the effect') {
      done.add(key);
      log.add({ key, film, eventId });
    }
    if (fate === 'answer') response.end('ordered');
    else calls.unanswered++;
  }

  async function nameFilm(film: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
    titles.set(film, await text(request));
    response.end(`film ${film} is called ${titles.get(film)}\n`);
  }

  const server = createServer((request, response) => {
    const film = /^\/titles\/(\d+)$/.exec(request.url ?? '')?.[1];
    let handling: Promise<void> | undefined;
    if (request.method === 'POST' && request.url === '/posters') handling = order(request, response);
    else if (request.method === 'PUT' && film) handling = nameFilm(Number(film), request, response);
    // A caller that hung up in the middle of its body.
    if (handling) handling.catch(() => response.destroy());
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        // Those that were never answered.
        server.closeAllConnections();
      }),
  };
}
