import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFilms } from '../demo/films';
import { NO_FAULTS } from '../demo/faults';
import { startMetadataProvider } from '../demo/metadataProvider';
import { HttpMetadataProvider } from '../src/adapters/http/metadata';
import { SharpImages } from '../src/adapters/images/sharp';

const never = new AbortController().signal;
const RECORD = { releasedOn: null, genre: null, distributor: null, director: null, posterUrl: null };
/** The first film that has everything. */
const COMPLETE = readFilms().find(
  ({ title, releasedOn, record }) =>
    title && releasedOn && record.Director && record.Distributor && record['Major Genre'],
);

describe('the metadata provider of the demonstration', () => {
  it('tells what the data set knows of films and people', async () => {
    const server = await startMetadataProvider(NO_FAULTS);
    const provider = new HttpMetadataProvider(`${server.url}/`);
    const { number = 0, releasedOn, record = {} } = COMPLETE ?? {};
    expect(await provider.film(number, never)).toEqual({
      releasedOn,
      genre: record['Major Genre'],
      distributor: record.Distributor,
      director: record.Director,
      posterUrl: `${server.url}/posters/${number}.svg`,
    });
    const theirs = readFilms().filter((film) => film.record.Director === record.Director && film.title !== null);
    expect(await provider.person(String(record.Director), never)).toEqual({ films: theirs.length });
    expect(await provider.film(999_999, never)).toBeUndefined();
    expect(await provider.person('Nobody Ever / & Sons', never)).toBeUndefined();
    expect(server.calls).toMatchObject({ film: { answered: 1, unknown: 1 }, person: { answered: 1, unknown: 1 } });
    await server.close();
  });

  it('has a poster of its own for each film, and every one is an image', async () => {
    const server = await startMetadataProvider(NO_FAULTS);
    const provider = new HttpMetadataProvider(server.url);
    const copies = new Set<string>();
    for (const number of [1, 2, 3, 300, 3_000]) {
      const image = await provider.image(`${server.url}/posters/${number}.svg`, never);
      expect(image?.contentType).toBe('image/svg+xml');
      copies.add((await new SharpImages().thumbnail(image?.body ?? Buffer.of(), 200)).toString('base64'));
    }
    expect(copies.size).toBe(5);
    expect(await provider.image(`${server.url}/posters/999999.svg`, never)).toBeUndefined();
    await server.close();
  });

  it('fails the same calls with the same seed, in whatever order they come', async () => {
    const outcomes = async (seed: number, numbers: readonly number[]) => {
      const server = await startMetadataProvider({ seed, delayMs: [0, 2], unavailable: 0.3, reset: 0.2 });
      const provider = new HttpMetadataProvider(server.url);
      const found: [number, string][] = [];
      for (const number of [...numbers, ...numbers]) {
        const said = await provider.film(number, never).then(
          () => 'answered',
          (error: Error) => error.message,
        );
        found.push([number, said]);
      }
      const calls = structuredClone(server.calls);
      await server.close();
      return { found: found.sort(([a], [b]) => a - b), calls };
    };
    const numbers = Array.from({ length: 40 }, (_, index) => index + 1);
    const one = await outcomes(7, numbers);
    expect(await outcomes(7, numbers.toReversed())).toEqual(one);
    expect((await outcomes(8, numbers)).found).not.toEqual(one.found);
    const { answered, unavailable, reset } = one.calls.film;
    expect(answered + unavailable + reset).toBe(80);
    expect(Math.min(answered, unavailable, reset)).toBeGreaterThan(0);
    expect(new Set(one.found.map(([, said]) => said.replace(/film \d+/, 'film N')))).toEqual(
      new Set([
        'answered',
        'The metadata provider, asked for film N, answered 503',
        'The metadata provider, asked for film N, could not be reached: ECONNRESET',
      ]),
    );
  });
});

describe('the adapter of a metadata provider', () => {
  let server: Server;
  let provider: HttpMetadataProvider;
  let url: string;

  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === '/films/1') response.end('<html>');
      else if (request.url === '/films/2') response.end(JSON.stringify({ releasedOn: 'yesterday', genre: null }));
      else if (request.url === '/films/3') response.writeHead(302, { location: '/films/1' }).end();
      else if (request.url === '/films/4') response.end(JSON.stringify({ genre: 'x'.repeat(200_000) }));
      else if (request.url === '/films/6') response.end(JSON.stringify({ ...RECORD, director: 'Half\u0000' }));
      else if (request.url === '/films/7') response.end(JSON.stringify({ ...RECORD, genre: '\ud800' }));
      else if (request.url === '/films/8') response.end(JSON.stringify({ ...RECORD, distributor: 'a\u0000b' }));
      else if (request.url === '/people/many') response.end(JSON.stringify({ films: 2_147_483_648 }));
      else if (request.url === '/sorry') response.writeHead(200, { 'content-type': 'text/html' }).end('sorry');
      // Else no answer at all.
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    provider = new HttpMetadataProvider(url);
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it.each([
    [1, /asked for film 1, gave an answer of another shape/],
    [2, /gave an answer of another shape: releasedOn: /],
    [3, /could not be reached/],
    [4, /answered with more than 100000 bytes/],
    [6, /of another shape: director: /],
    [7, /of another shape: genre: /],
    [8, /of another shape: distributor: /],
  ])('refuses what is no answer (%s)', async (number, why) => {
    await expect(provider.film(number, never)).rejects.toThrow(why);
  });

  it('refuses a number that no column holds', async () => {
    await expect(provider.person('many', never)).rejects.toThrow(/of another shape: films: /);
  });

  it('takes a page for no image', async () => {
    await expect(provider.image(`${url}/sorry`, never)).rejects.toThrow('answered with something else');
  });

  it('ends a call when its handler is to end', async () => {
    const stop = new AbortController();
    const call = provider.film(5, stop.signal);
    stop.abort(new Error('the worker stops'));
    await expect(call).rejects.toThrow('the worker stops');
  });
});
