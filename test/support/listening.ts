import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface Listener {
  readonly program: string;
  /** As the kernel writes it: `127.0.0.1`, `::1`, `0.0.0.0`. */
  readonly address: string;
  readonly port: number;
}

/** TCP_LISTEN in `/proc/net/tcp`. */
const LISTENING = '0A';

/** Where a process and all that it started listen, in TCP. Linux only: it reads /proc. */
export function listenersOf(pid: number): Listener[] {
  const sockets = new Map([...listening('tcp'), ...listening('tcp6')]);
  const found = familyOf(pid).flatMap((member) => {
    const program = read(`/proc/${member}/comm`).trim();
    return socketsOf(member).flatMap((inode) => {
      const place = sockets.get(inode);
      return place ? [{ program, ...place }] : [];
    });
  });
  // The children of a server hold its socket too.
  return [...new Map(found.map((listener) => [JSON.stringify(listener), listener])).values()];
}

export function isLoopback({ address }: Listener): boolean {
  return /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/.test(address);
}

/** By inode. */
function listening(file: 'tcp' | 'tcp6'): [string, { address: string; port: number }][] {
  return read(`/proc/net/${file}`)
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state]) => state === LISTENING)
    .map((fields) => {
      const [address = '', port = ''] = (fields[1] ?? '').split(':');
      return [fields[9] ?? '', { address: addressOf(address), port: parseInt(port, 16) }];
    });
}

/** The kernel prints words of four bytes, each in the order of the machine, which is the least byte first. */
function addressOf(hex: string): string {
  const bytes = [...hex.matchAll(/.{8}/g)].flatMap(([word]) => (word.match(/../g) ?? []).reverse());
  if (bytes.length === 4) return bytes.map((byte) => parseInt(byte, 16)).join('.');
  const text = bytes.join('');
  if (text === `${'0'.repeat(31)}1`) return '::1';
  if (text.startsWith(`${'0'.repeat(20)}ffff`)) return `::ffff:${bytes.slice(12).map((byte) => parseInt(byte, 16)).join('.')}`; // prettier-ignore
  return text.match(/.{4}/g)?.join(':') ?? hex;
}

function familyOf(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    // After the name of the program, which is in brackets and may hold anything: state, then parent.
    .map(
      (name) =>
        [
          Number(name),
          Number(
            read(`/proc/${name}/stat`)
              .replace(/^.*\) /s, '')
              .split(' ')[1],
          ),
        ] as const,
    );
  const family = [pid];
  for (const member of family)
    family.push(...parents.filter(([, parent]) => parent === member).map(([child]) => child));
  return family;
}

function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return unlessGone(() => readdirSync(folder), []).flatMap((name) => {
    const target = unlessGone(() => readlinkSync(`${folder}/${name}`), '');
    return /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [];
  });
}

const read = (file: string) => unlessGone(() => readFileSync(file, 'utf8'), '');

/** A process may end while it is looked at. */
function unlessGone<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
