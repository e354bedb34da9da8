/** A server for development could not be had. The message is one clear sentence with the way out: print it alone. */
export class ServerError extends Error {
  readonly kind = 'server';
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ServerError';
  }

  /** One error that says all that went wrong. An error of another kind is a fault of ours and comes back as it is. */
  static combining(reasons: readonly Error[]): Error {
    const fault = reasons.find((reason) => !(reason instanceof ServerError));
    return fault ?? new ServerError(reasons.map((reason) => reason.message).join('\n'), { cause: reasons[0] });
  }
}
