import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * How a network fails. `refused`: nobody listens, and what was open is reset. `silent`: packets are dropped in both
 * directions and sent again once the way is free, as TCP does. `deaf`: the same, towards the server only, which goes on
 * talking. `slow`: each packet takes so many milliseconds more.
 */
export type Trouble =
  | { readonly kind: 'refused' }
  | { readonly kind: 'silent' }
  | { readonly kind: 'deaf' }
  | { readonly kind: 'slow'; readonly ms: number };

/** A TCP proxy in front of one server, for one process: what is done to it, no other process feels. */
export class Proxy {
  private readonly wires = new Set<Wire>();
  private readonly sockets = new Set<Socket>();
  private trouble: Trouble | undefined;

  private constructor(
    private readonly target: { host: string; port: number },
    private readonly server = createServer(),
  ) {}

  /** @param url of the server; only host and port matter */
  static async to(url: string): Promise<Proxy> {
    const { hostname: host, port } = new URL(url.includes('://') ? url : `tcp://${url}`);
    const proxy = new Proxy({ host, port: Number(port) });
    proxy.server.on('connection', (socket) => proxy.accept(socket));
    await new Promise<void>((resolve, reject) =>
      proxy.server.once('error', reject).listen(0, '127.0.0.1', () => resolve()),
    );
    return proxy;
  }

  /** `url` with the proxy's host and port. */
  url(url: string): string {
    const { port } = this.server.address() as AddressInfo;
    if (!url.includes('://')) return `127.0.0.1:${port}`;
    const through = new URL(url);
    through.hostname = '127.0.0.1';
    through.port = String(port);
    return through.toString();
  }

  begin(trouble: Trouble): void {
    this.trouble = trouble;
    if (trouble.kind === 'refused') this.reset();
    for (const wire of this.wires) wire.obey(trouble);
  }

  heal(): void {
    this.trouble = undefined;
    for (const wire of this.wires) wire.obey(undefined);
  }

  /** Ends all connections with a reset; new ones come through. */
  reset(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private accept(socket: Socket): void {
    if (this.trouble?.kind === 'refused') return void socket.on('error', () => undefined).resetAndDestroy();
    const upstream = connect(this.target);
    this.join(socket, upstream, true);
    this.join(upstream, socket, false);
  }

  private join(from: Socket, to: Socket, toServer: boolean): void {
    const wire = new Wire(from, to, toServer);
    this.sockets.add(from);
    this.wires.add(wire);
    wire.obey(this.trouble);
    from.setNoDelay(true);
    from.on('error', () => undefined);
    from.on('close', () => {
      this.sockets.delete(from);
      this.wires.delete(wire);
      wire.close();
    });
  }
}

/** One direction of a connection. */
class Wire {
  private readonly under: { readonly data: Buffer; readonly due: number }[] = [];
  private delayMs = 0;
  private blocked = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    from: Socket,
    private readonly to: Socket,
    private readonly toServer: boolean,
  ) {
    from.on('data', (data) => {
      this.under.push({ data, due: performance.now() + this.delayMs });
      this.pass();
    });
  }

  obey(trouble: Trouble | undefined): void {
    this.delayMs = trouble?.kind === 'slow' ? trouble.ms : 0;
    this.blocked = trouble?.kind === 'silent' || (trouble?.kind === 'deaf' && this.toServer);
    this.pass();
  }

  /** The other side hears of an end only when what was sent before it has come through. */
  close(): void {
    clearTimeout(this.timer);
    if (this.blocked || this.under.length > 0) this.to.resetAndDestroy();
    else this.to.end(() => this.to.destroy());
  }

  private pass(): void {
    clearTimeout(this.timer);
    for (let next = this.under[0]; next && !this.blocked; next = this.under[0]) {
      const wait = next.due - performance.now();
      if (wait > 0) {
        this.timer = setTimeout(() => this.pass(), wait);
        return;
      }
      this.under.shift();
      this.to.write(next.data);
    }
  }
}
