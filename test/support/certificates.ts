import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';

const DAY_MS = 86_400_000;

/** Files of one certificate, and its text. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

export interface CertificateWish {
  /** Default: 127.0.0.1 and localhost. */
  readonly host?: string;
  /** Its time was over an hour ago. */
  readonly expired?: boolean;
}

/** An authority of one test, whose certificates nobody else trusts. */
export class Authority {
  private constructor(
    private readonly directory: string,
    private readonly own: { key: string; cert: string },
    /** What the other side must trust. */
    readonly caFile: string,
  ) {}

  get ca(): string {
    return this.own.cert;
  }

  static async create(directory: string, name = 'test authority'): Promise<Authority> {
    mkdirSync(directory, { recursive: true });
    const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
      algorithm: 'sha256',
      keyType: 'ec',
      ...validity(),
      extensions: [
        { name: 'basicConstraints', cA: true, critical: true },
        { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
      ],
    });
    const caFile = join(directory, `${name.replaceAll(' ', '-')}.pem`);
    writeFileSync(caFile, cert);
    return new Authority(directory, { key, cert }, caFile);
  }

  /** @param name names its files, and is its common name: who a client is */
  async issue(name: string, wish: CertificateWish = {}): Promise<Certificate> {
    const altNames = wish.host
      ? [{ type: 2 as const, value: wish.host }]
      : [
          { type: 2 as const, value: 'localhost' },
          { type: 7 as const, ip: '127.0.0.1' },
        ];
    const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
      algorithm: 'sha256',
      keyType: 'ec',
      ca: this.own,
      ...validity(wish.expired),
      extensions: [
        { name: 'basicConstraints', cA: false },
        { name: 'keyUsage', digitalSignature: true },
        { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
        { name: 'subjectAltName', altNames },
      ],
    });
    const [certFile, keyFile] = [join(this.directory, `${name}.crt`), join(this.directory, `${name}.key`)];
    writeFileSync(certFile, cert);
    // PostgreSQL refuses a key that others may read.
    writeFileSync(keyFile, key, { mode: 0o600 });
    return { certFile, keyFile, cert, key };
  }
}

function validity(expired = false): { notBeforeDate: Date; notAfterDate: Date } {
  const now = Date.now();
  return {
    notBeforeDate: new Date(now - 2 * DAY_MS),
    notAfterDate: new Date(expired ? now - 3_600_000 : now + 2 * DAY_MS),
  };
}
