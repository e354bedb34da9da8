import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * A TCP proxy in front of a shared server: counts connections, and takes the server away from one worker only.
 */
export class Proxy {
  /** Connections accepted so far. */
  connections = 0;
  /** Bytes that silence has kept from their receiver. */
  swallowed = 0;
  private readonly sockets = new Set<Socket>();
  private cut = false;
  private silent = false;

  private constructor(
    private readonly target: { host: string; port: number },
    readonly server = createServer(),
  ) {}

  /** @param url of the server; only host and port matter */
  static async to(url: string): Promise<Proxy> {
    const { hostname: host, port } = new URL(url.includes('://') ? url : `tcp://${url}`);
    const proxy = new Proxy({ host, port: Number(port) });
    proxy.server.on('connection', (socket) => proxy.accept(socket));
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** Host and port, as Temporal's clients want them. */
  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** `url` with the proxy's host and port. */
  url(url: string): string {
    const through = new URL(url);
    through.host = this.address;
    return through.toString();
  }

  /** The server is gone: open connections end, new ones are closed at once. */
  takeAway(): void {
    this.cut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  giveBack(): void {
    this.cut = false;
  }

  /** The server is there and says nothing, as behind a firewall that drops: open connections stay, nothing passes. */
  silence(): void {
    this.silent = true;
  }

  async close(): Promise<void> {
    this.takeAway();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private accept(socket: Socket): void {
    this.connections++;
    if (this.cut) return void socket.destroy();
    if (this.silent) {
      this.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
      return;
    }
    const upstream = connect(this.target);
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      this.sockets.add(from);
      from
        .on('error', () => undefined)
        .on('close', () => {
          this.sockets.delete(from);
          to.destroy();
        });
      from.on('data', (data) => {
        if (this.silent) this.swallowed += data.length;
        else to.write(data);
      });
    }
  }
}
