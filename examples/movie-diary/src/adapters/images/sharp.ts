import sharp from 'sharp';
import { UnreadableImage } from '../../domain/poster';
import type { Images } from '../../ports/images';

export class SharpImages implements Images {
  async thumbnail(original: Uint8Array, width: number): Promise<Buffer> {
    try {
      return await sharp(original, { failOn: 'error' }).autoOrient().resize({ width }).webp().toBuffer();
    } catch (error) {
      const { message } = error as Error;
      // The one reason that another attempt may find gone.
      if (/memory|allocat/i.test(message)) throw error;
      throw new UnreadableImage(`It is no image that can be read: ${message.split('\n', 1)[0]}`, { cause: error });
    }
  }
}
