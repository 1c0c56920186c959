import { anonymousOwner } from '@agent-workflow/kit/ids';
import { isIP } from 'node:net';
import type { Context } from '../http/context.ts';

/** The key by which a caller is counted: its owner, or the address of an anonymous one. */
export const callerOf = (ctx: Context, hops: number): string =>
  ctx.state.principal.owner === anonymousOwner ? `@${addressOf(ctx, hops)}` : ctx.state.principal.owner;

/**
 * The address of the caller, as a key to count by. Proxies append to `X-Forwarded-For`, so only its last `hops` entries come
 * from trusted proxies; the entry `hops` from the right is the address that the outermost of them saw. When there is no
 * address at that position, the address of the connection counts.
 */
export function addressOf({ req }: Pick<Context, 'req'>, hops: number): string {
  const peer = req.socket.remoteAddress ?? '';
  const forwarded = req.headers['x-forwarded-for'];
  if (hops === 0 || typeof forwarded !== 'string') return blockOf(peer);
  const seen = forwarded.split(',').at(-hops)?.trim() ?? '';
  return blockOf(isIP(seen) === 0 ? peer : seen);
}

/** An IPv6 network of 64 bits counts as one caller. */
function blockOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = groupsOf(address);
  const [sixth, seventh = 0, eighth = 0] = groups.slice(5);
  if (sixth === 0xffff && groups.slice(0, 5).every((group) => group === 0))
    return [seventh >> 8, seventh & 0xff, eighth >> 8, eighth & 0xff].join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The eight groups of 16 bits of an IPv6 address. */
function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const [before, after] = [numbersOf(head), numbersOf(tail ?? '')];
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}

/** Groups with colons between them; a dotted IPv4 address at the end is two. */
const numbersOf = (text: string): readonly number[] =>
  text === ''
    ? []
    : text.split(':').flatMap((group) => {
        const [a = 0, b = 0, c = 0, d = 0] = group.includes('.') ? group.split('.').map(Number) : [];
        return group.includes('.') ? [(a << 8) | b, (c << 8) | d] : [Number.parseInt(group, 16)];
      });
