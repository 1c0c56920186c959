import type { Dialect } from '../../http/dialect.ts';
import { writtenSse } from '../common/written-sse.ts';
import type { ServiceEndpoint } from '../common/services.ts';
import { refuse } from './replies/refusal.ts';
import { rows } from './rows/messages.ts';

const framing = writtenSse({ name: 'mcp' });

/** The Model Context Protocol: agents are tools, and a call is a run. */
export const mcp: Dialect<ServiceEndpoint> = {
  name: 'mcp',
  prefix: '/mcp',
  rows,
  envelope: () => ['', ''],
  deleted: '',
  refuse,
  framingFor: () => framing,
  namedIn: () => ({}),
  cors: {
    allow: ['MCP-Protocol-Version', 'Mcp-Session-Id', 'Mcp-Method', 'Mcp-Name'],
    expose: ['Mcp-Session-Id'],
  },
};
