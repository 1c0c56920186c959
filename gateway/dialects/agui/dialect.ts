import type { Dialect } from '../../http/dialect.ts';
import type { ServiceEndpoint } from '../common/services.ts';
import { writtenSse } from '../common/written-sse.ts';
import { refuse } from './replies/refusal.ts';
import { rows } from './rows/runs.ts';

const framing = writtenSse({ name: 'agui' });

/** AG-UI 1.0: a run of an agent as the events that pages read. */
export const agui: Dialect<ServiceEndpoint> = {
  name: 'agui',
  prefix: '/agui',
  rows,
  envelope: () => ['', ''],
  deleted: '',
  refuse,
  framingFor: () => framing,
  namedIn: ({ threadId }) => ({ threadId: typeof threadId === 'string' ? threadId : undefined }),
};
