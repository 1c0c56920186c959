import { findOffer, offersOf } from '../offers/offers.ts';
import { matchTemplate } from '../offers/template.ts';
import type { Offers } from '../offers/offered.ts';
import type { Asked } from '../calls/asked.ts';
import { textIn, type Fields } from '../wire/fields.ts';
import { cached } from '../wire/reply.ts';
import { invalidParams, RpcError, rpcCodes } from '../wire/rpc-error.ts';
import { runCall } from './calls.ts';
import { listOffered } from './lists.ts';
import { readableAgents, type McpRequest, type Method } from './method.ts';
import { listThreads, readThread, threadTemplate } from './threads.ts';

/** Stands before the cursor of a page of threads. */
const ofThreads = 'threads:';

/** What agents offer, and behind it the threads of the caller. */
export const listResources: Method = async ({ request, client, params }, services) => {
  const { cursor } = params;
  const isFirst = cursor === undefined;
  if (!isFirst && !(typeof cursor === 'string' && cursor.startsWith(ofThreads)))
    throw invalidParams('cursor is none that a list gave');
  const [offered, threads] = await Promise.all([
    isFirst ? readable([...(await offersOf(services.execution, request.call)).resources.values()]) : [],
    listThreads(request, isFirst ? undefined : cursor.slice(ofThreads.length), services),
  ]);
  return cached(
    {
      resources: [...offered, ...threads.resources],
      ...(threads.cursor !== undefined && { nextCursor: `${ofThreads}${threads.cursor}` }),
    },
    client,
  );

  async function readable(all: readonly { readonly agent: string; readonly shown: Fields }[]) {
    const agents = await readableAgents(
      request,
      all.map(({ agent }) => agent),
      services,
    );
    return all.filter(({ agent }) => agents.has(agent)).map(({ shown }) => shown);
  }
};

export const listTemplates: Method = async (given, services) => {
  const { templates } = await offersOf(services.execution, given.request.call);
  const listed = await listOffered('resourceTemplates', templates, given, services);
  const own = 'nextCursor' in listed ? [] : [threadTemplate];
  return { ...listed, resourceTemplates: [...(listed['resourceTemplates'] as readonly Fields[]), ...own] };
};

export const readResource: Method = async (given, services) => {
  const { request, client } = given;
  const uri = uriIn(given);
  const asked = await findOffer(services.execution, request.call, (offers) => askedOf(offers, uri));
  if (asked) return runCall(asked, given, services);
  const read = await readThread(request, uri, services);
  if (!read) throw noResource(given, uri);
  return cached(read, client);
};

/** What an agent offers changes with its releases alone: nothing is ever sent. A thread cannot be subscribed to. @throws RpcError */
export const subscribe: Method = async (given, services) => {
  const uri = uriIn(given);
  const offers = await offersOf(services.execution, given.request.call);
  const asked = askedOf(offers, uri);
  const agents = await readableAgents(given.request, asked ? [asked.agent] : [], services);
  if (!asked || !agents.has(asked.agent)) throw noResource(given, uri);
  return {};
};

function uriIn({ params }: McpRequest): string {
  const uri = textIn(params['uri']);
  if (uri === undefined) throw invalidParams('uri is required');
  return uri;
}

const noResource = ({ client }: McpRequest, uri: string): RpcError =>
  new RpcError(client.isModern ? rpcCodes.invalidParams : rpcCodes.resourceNotFound, 'there is no such resource', {
    data: { uri: uri.slice(0, 1024) },
  });

function askedOf({ resources, templates }: Offers, uri: string): Asked | undefined {
  const one = resources.get(uri);
  const method = 'resources/read';
  if (one)
    return { ...{ method, agent: one.agent, name: uri, isAgent: false, arguments: {} }, mimeType: mimeOf(one.shown) };
  for (const { agent, template, shown } of templates) {
    const values = matchTemplate(template, uri);
    if (values) return { ...{ method, agent, name: uri, isAgent: false, arguments: values }, mimeType: mimeOf(shown) };
  }
  return undefined;
}

const mimeOf = ({ mimeType }: Fields): string | undefined => textIn(mimeType);
