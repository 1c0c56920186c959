import type { Dialect } from '../../http/dialect.ts';
import type { ServiceEndpoint } from '../common/services.ts';
import { writtenSse } from '../common/written-sse.ts';
import { checkVersion } from './in/version.ts';
import { readCall } from './in/methods.ts';
import { refuse } from './replies/refusal.ts';
import { rows } from './rows/table.ts';

const framing = writtenSse({ name: 'a2a' });

/** A2A 1.0: a task is a run with the answers to what it asks, a context a thread. Its operations come by REST and by JSON-RPC. */
export const a2a: Dialect<ServiceEndpoint> = {
  name: 'a2a',
  prefix: '/a2a',
  rows,
  rpc: { path: '/a2a/{agent}', read: readCall },
  bodyTypes: ['application/a2a+json'],
  checkSent: checkVersion,
  everyQuery: ['A2A-Version', 'A2A-Extensions'],
  envelope: ({ rpc }) => (rpc ? [`{"jsonrpc":"2.0","id":${JSON.stringify(rpc.id)},"result":`, '}'] : ['', '']),
  deleted: '{}',
  refuse,
  framingFor: () => framing,
  namedIn: ({ message }) => ({ threadId: contextIn(message) }),
  cors: { allow: ['A2A-Version', 'A2A-Extensions'], expose: ['A2A-Version', 'A2A-Extensions'] },
};

/** The thread that a message names. */
function contextIn(message: unknown): string | undefined {
  if (typeof message !== 'object' || message === null || !('contextId' in message)) return undefined;
  const { contextId } = message;
  return typeof contextId === 'string' && contextId !== '' ? contextId : undefined;
}
