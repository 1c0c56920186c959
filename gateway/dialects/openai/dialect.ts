import type { Dialect } from '../../http/dialect.ts';
import { writtenSse } from '../common/written-sse.ts';
import type { ServiceEndpoint } from '../common/services.ts';
import { readAnyId } from './ids/shown-id.ts';
import { namedIn } from './in/named.ts';
import { refuse } from './replies/refusal.ts';
import { rows } from './rows/table.ts';

const framing = writtenSse({ name: 'openai' });

/** Headers of OpenAI's clients in browsers, which say what they are. */
const clientHeaders = [
  'Lang',
  'Package-Version',
  'OS',
  'Arch',
  'Runtime',
  'Runtime-Version',
  'Retry-Count',
  'Timeout',
  'Helper-Method',
];

/** OpenAI's API, as its clients call it: an agent is a model, a run a completion or a response, a thread a conversation. */
export const openai: Dialect<ServiceEndpoint> = {
  name: 'openai',
  prefix: '/openai',
  rows,
  envelope: () => ['', ''],
  deleted: '',
  refuse,
  framingFor: () => framing,
  namedIn,
  cutsUnfinished: true,
  readId: readAnyId,
  cors: {
    allow: [
      'OpenAI-Organization',
      'OpenAI-Project',
      'OpenAI-Beta',
      ...clientHeaders.map((name) => `X-Stainless-${name}`),
    ],
    expose: ['X-Should-Retry'],
  },
};
