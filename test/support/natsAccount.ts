import { randomBytes } from 'node:crypto';
import { nkeys } from 'nats';

/** An operator with one account, as `nsc` makes them; the server knows both from its configuration. */
export interface NatsAccount {
  /** What the server must know. */
  serverConfig(): string;
  /** The creds file of a new user. */
  userCreds(validity?: { expiredSeconds?: number; lastsSeconds?: number }): string;
}

type KeyPair = ReturnType<typeof nkeys.createUser>;

export function natsAccount(): NatsAccount {
  const operator = nkeys.createOperator();
  const account = nkeys.createAccount();
  const system = nkeys.createAccount();
  const limits = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
  const jetstream = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const accountToken = (of: KeyPair, more: object) =>
    token(operator, of, 'account', { limits: { ...limits, ...more }, default_permissions: { pub: {}, sub: {} } });
  return {
    serverConfig: () => `
      operator: ${token(operator, operator, 'operator', { system_account: system.getPublicKey() })}
      system_account: ${system.getPublicKey()}
      resolver: MEMORY
      resolver_preload: {
        ${account.getPublicKey()}: ${accountToken(account, jetstream)}
        ${system.getPublicKey()}: ${accountToken(system, {})}
      }`,
    userCreds: ({ expiredSeconds, lastsSeconds } = {}) => {
      const user = nkeys.createUser();
      const now = Math.floor(Date.now() / 1_000);
      const exp = expiredSeconds ? now - expiredSeconds : lastsSeconds ? now + lastsSeconds : undefined;
      const jwt = token(account, user, 'user', { pub: {}, sub: {}, subs: -1, data: -1, payload: -1 }, exp);
      const secret = new TextDecoder().decode(user.getSeed());
      return (
        `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n\n` +
        `-----BEGIN USER NKEY SEED-----\n${secret}\n------END USER NKEY SEED------\n`
      );
    },
  };
}

/** A claim of `subject`, signed by `issuer`. */
function token(issuer: KeyPair, subject: KeyPair, type: string, nats: object, exp?: number): string {
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iat = Math.floor(Date.now() / 1_000) - 3_600;
  const claims = {
    ...{
      jti: randomBytes(16).toString('hex'),
      iat,
      iss: issuer.getPublicKey(),
      name: type,
      sub: subject.getPublicKey(),
    },
    ...(exp !== undefined && { exp }),
    nats: { ...nats, type, version: 2 },
  };
  const signed = `${encoded({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encoded(claims)}`;
  return `${signed}.${Buffer.from(issuer.sign(new TextEncoder().encode(signed))).toString('base64url')}`;
}
