import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Activity } from '../../src/domain/activity';
import { actorOf, type Actor } from '../../src/domain/actor';

export interface Post {
  /** Absolute, as a request to this instance. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly activity: Activity;
}

/** A real HTTP server in the place of another instance: it serves actors, and keeps every request to an inbox. */
export class RemoteInstance {
  readonly posts: Post[] = [];
  /** Answers of GET, by path; a function answers by itself. */
  readonly documents = new Map<string, unknown>();
  /** How often each path was asked for with GET. */
  readonly gets = new Map<string, number>();
  /** What an inbox answers. */
  answer: (post: Post) => number | Promise<number> = () => 202;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<RemoteInstance> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const instance = new RemoteInstance(server);
    server.on('request', (request, reply) => {
      const { method, url = '/', headers } = request;
      if (method === 'GET') return instance.serve(url, reply);
      void text(request).then(async (body) => {
        const post = { url: `${instance.origin}${url}`, headers, body, activity: JSON.parse(body) as Activity };
        instance.posts.push(post);
        reply.statusCode = await instance.answer(post);
        reply.end();
      });
    });
    return instance;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** A new actor, or the same with a new key. */
  actor(name: string, changes: Partial<Actor> = {}): Actor & { readonly privateKey: string } {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519', {
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    const user = { name, displayName: name, publicKey, movedTo: null, version: 1 };
    const actor = { ...actorOf(this.origin, user), ...changes };
    this.documents.set(`/users/${name}`, actor);
    return { ...actor, privateKey };
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private serve(path: string, reply: ServerResponse): void {
    this.gets.set(path, (this.gets.get(path) ?? 0) + 1);
    const document = this.documents.get(path);
    if (typeof document === 'function') return void (document as (reply: ServerResponse) => void)(reply);
    reply.statusCode = document === undefined ? 404 : 200;
    reply.setHeader('content-type', 'application/activity+json');
    reply.end(JSON.stringify(document ?? { error: 'not here' }));
  }
}
