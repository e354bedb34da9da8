import { createServer } from 'node:net';

/** @throws Error that names the variable of the first port that somebody else listens on */
export async function requireFree(ports: Readonly<Record<string, number>>): Promise<void> {
  for (const [variable, port] of Object.entries(ports)) {
    await new Promise<void>((resolve, reject) => {
      const server = createServer();
      server.once('error', (error) =>
        reject(new Error(`The port ${port} cannot be used (${error.message}): set ${variable} to another one.`)),
      );
      server.listen(port, '127.0.0.1', () => server.close(() => resolve()));
    });
  }
}
