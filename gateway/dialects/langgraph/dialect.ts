import type { Dialect } from '../../http/dialect.ts';
import type { ServiceEndpoint } from '../common/services.ts';
import { langgraphSse } from './frames/frame.ts';
import { agentOfAssistant } from './ids/assistant-id.ts';
import { namedIn } from './in/named.ts';
import { toOpenApi } from './operations/open-api.ts';
import { refuse } from './replies/refusal.ts';
import { rows } from './rows/table.ts';

/** The API of LangGraph Server, as its clients call it: bare JSON, and errors that are one text. */
export const langgraph: Dialect<ServiceEndpoint> = {
  name: 'langgraph',
  prefix: '/langgraph',
  rows,
  envelope: () => ['', ''],
  deleted: '',
  refuse,
  framingFor: () => langgraphSse,
  namedIn,
  tokenHeader: 'x-api-key',
  cors: {
    allow: ['X-Api-Key', 'Prefer'],
    expose: ['Location', 'Content-Location', 'X-Pagination-Total', 'X-Pagination-Next', 'X-Search-Partial'],
  },
  ignoresUnknownQuery: true,
  agentOfAssistant,
  openApi: (options) => toOpenApi(rows, options),
};
