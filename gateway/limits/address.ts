import { isIP } from 'node:net';
import type { Context } from '../http/context.ts';

/**
 * The address of the caller as a key to count by. Proxies append to `X-Forwarded-For`, so that only its last `hops`
 * entries were written by those we trust: the one that the outermost of them saw is `hops` from the right. A request
 * that came by fewer proxies, or with something else in that place, counts as its connection's.
 */
export function addressOf({ req }: Pick<Context, 'req'>, hops: number): string {
  const peer = req.socket.remoteAddress ?? '';
  const forwarded = req.headers['x-forwarded-for'];
  if (hops === 0 || typeof forwarded !== 'string') return blockOf(peer);
  const seen = forwarded.split(',').at(-hops)?.trim() ?? '';
  return blockOf(isIP(seen) === 0 ? peer : seen);
}

/** An IPv6 caller has a network of 64 bits for itself, and counts as one. */
function blockOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').toLowerCase().split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - widthOf(after)) }, () => '0');
  const groups = tail === undefined ? before : [...before, ...zeros, ...after];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

/** Groups that these stand for: a dotted address at the end is two. */
const widthOf = (groups: readonly string[]): number => groups.length + (groups.at(-1)?.includes('.') ? 1 : 0);
