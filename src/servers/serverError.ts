/** A server for development could not be had. The message is one clear sentence with the way out: print it alone. */
export class ServerError extends Error {
  readonly kind = 'server';
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ServerError';
  }
}
