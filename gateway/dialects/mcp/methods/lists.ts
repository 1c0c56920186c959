import type { Offered } from '../offers/offered.ts';
import { cached } from '../wire/reply.ts';
import { textIn, type Fields } from '../wire/fields.ts';
import { invalidParams } from '../wire/rpc-error.ts';
import { authorize, readableAgents, reading, type McpRequest } from './method.ts';
import type { Services } from '../../common/services.ts';

/** Items of one page (a count). */
const pageItems = 100;

/** Where a page begins, as a cursor says: how many items stand before it. @throws RpcError */
function offsetIn(params: Fields): number {
  const cursor = textIn(params['cursor']);
  if (params['cursor'] === undefined) return 0;
  if (cursor === undefined || !/^\d{1,6}$/.test(cursor)) throw invalidParams('cursor is none that a list gave');
  return Number(cursor);
}

/** A page of what agents offer, under the name that the protocol has for it. */
export async function listOffered(
  name: string,
  offered: readonly Offered[],
  { request, client, params }: McpRequest,
  services: Services,
): Promise<Fields> {
  const offset = offsetIn(params);
  if (!services.mayTouch) await authorize(request, reading, {}, services);
  const agents = await readableAgents(
    request,
    offered.map(({ agent }) => agent),
    services,
  );
  const readable = offered.filter(({ agent }) => agents.has(agent));
  const page = readable.slice(offset, offset + pageItems).map(({ shown }) => shown);
  const next = offset + page.length;
  return cached({ [name]: page, ...(next < readable.length && { nextCursor: String(next) }) }, client);
}
