import type { Dialect } from '../../http/dialect.ts';
import { writtenSse } from '../common/written-sse.ts';
import type { ServiceEndpoint } from '../common/services.ts';
import { refuse } from './replies/refusal.ts';
import { resourceMetadataPath } from '../../http/access.ts';
import { messageRows } from './rows/messages.ts';
import { metadataRows } from './rows/metadata.ts';

const framing = writtenSse({ name: 'mcp' });

/** The Model Context Protocol: agents are tools, and a call is a run. */
export const mcp: Dialect<ServiceEndpoint> = {
  name: 'mcp',
  prefix: '/mcp',
  rows: [...messageRows, ...metadataRows],
  envelope: () => ['', ''],
  deleted: '',
  refuse,
  framingFor: () => framing,
  namedIn: () => ({}),
  refusesForeignPages: true,
  resourceMetadata: `${resourceMetadataPath}/mcp`,
  cors: {
    allow: ['MCP-Protocol-Version', 'Mcp-Session-Id', 'Mcp-Method', 'Mcp-Name'],
    expose: ['Mcp-Session-Id'],
  },
};
