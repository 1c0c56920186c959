import { ServiceError } from '@agent-workflow/kit/errors';
import { ArrivalWatch, leastPace } from './arrival.ts';
import { discardRest } from './body.ts';
import type { Context } from './context.ts';

/** A body as it was sent, and the headers that speak of it. */
export interface ReceivedBytes {
  readonly bytes: Buffer;
  readonly contentType: string;
}

/** Senders of events give up after some seconds. */
const arrival = { totalMs: 30_000, pace: leastPace };

/**
 * Reads a body as the bytes that were sent, of which a signature is made.
 * @throws TooLarge above `maxBytes`; Timeout (408) for a body that is late or slow; BadRequest for one that is packed.
 */
export async function receiveBytes(ctx: Context, maxBytes: number): Promise<ReceivedBytes> {
  const { headers } = ctx.req;
  try {
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new ServiceError('BadRequest', 'the body must not be packed: its signature is of the bytes that are sent');
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
    const late = Promise.withResolvers<never>();
    using _watch = new ArrivalWatch(ctx, arrival, late.reject);
    const bytes = await Promise.race([gather(ctx, maxBytes), late.promise]);
    return { bytes, contentType: headers['content-type'] ?? '' };
  } catch (error) {
    if (!ctx.req.complete) discardRest(ctx);
    throw error;
  }
}

async function gather({ req }: Context, maxBytes: number): Promise<Buffer> {
  const bytes = Buffer.alloc(maxBytes);
  let length = 0;
  for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    if (length + chunk.byteLength > maxBytes) throw tooLarge(maxBytes);
    length += chunk.copy(bytes, length);
  }
  if (!req.complete) throw new ServiceError('Cancelled', 'the sender disconnected');
  return bytes.subarray(0, length);
}

const tooLarge = (maxBytes: number): ServiceError =>
  new ServiceError('TooLarge', `the body is larger than ${String(maxBytes)} bytes`);
