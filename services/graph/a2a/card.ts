import { isObject } from './object.ts';

/** Where an agent of A2A is called, as its card says. */
interface AgentAddress {
  readonly name: string;
  readonly url: string;
}

/** The version of the protocol that is spoken. */
export const version = '1.0';

/** The address of the card of an agent: that of the agent with the well-known path, unless it is that of a card itself. */
export const cardUrl = (url: string): string =>
  url.endsWith('.json') ? url : new URL('.well-known/agent-card.json', url.endsWith('/') ? url : `${url}/`).href;

/** Reads a card. @throws Error where it has no interface that is spoken here: JSON-RPC of A2A 1.0 */
export function readCard(card: unknown): AgentAddress {
  const { name, supportedInterfaces } = isObject(card) ? card : {};
  const all: readonly unknown[] = Array.isArray(supportedInterfaces) ? supportedInterfaces : [];
  for (const each of all) {
    if (!isObject(each)) continue;
    const { url, protocolBinding, protocolVersion } = each;
    const isSpoken = protocolBinding === 'JSONRPC' && protocolVersion === version;
    if (isSpoken && typeof url === 'string' && /^https?:/.test(url) && URL.canParse(url))
      return { name: typeof name === 'string' ? name : url, url };
  }
  throw new Error('the card of the agent has no interface of A2A 1.0 by JSON-RPC');
}
