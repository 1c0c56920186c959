import type { Method } from '../../../http/endpoint.ts';
import { endpoint } from '../../common/services.ts';
import { refusalWith } from '../replies/refusal.ts';

interface RefusedOperation {
  readonly name: string;
  readonly method: Method;
  readonly path: string;
  readonly why: string;
}

const completionsAreNotStored = 'Completions are not stored: use metadata.thread_id, or responses.';
const completions = '/openai/v1/chat/completions';

/** What OpenAI's clients can ask for and no agent can serve: a caller reads why, and not that the path is absent. */
const operations: readonly RefusedOperation[] = [
  {
    name: 'oaCompactResponse',
    method: 'POST',
    path: '/openai/v1/responses/compact',
    why: 'The agent keeps its context: a conversation is not compacted from outside.',
  },
  {
    name: 'oaCountInputTokens',
    method: 'POST',
    path: '/openai/v1/responses/input_tokens',
    why: 'An agent is no single model: its tokens are counted when it has run, in usage.',
  },
  { name: 'oaListCompletions', method: 'GET', path: completions, why: completionsAreNotStored },
  ...(['GET', 'POST', 'DELETE'] as const).map((method) => ({
    ...{ name: `oa${{ GET: 'Get', POST: 'Update', DELETE: 'Delete' }[method]}Completion`, method },
    ...{ path: `${completions}/{completion}`, why: completionsAreNotStored },
  })),
  {
    name: 'oaListCompletionMessages',
    method: 'GET',
    path: `${completions}/{completion}/messages`,
    why: completionsAreNotStored,
  },
];

export const refusedRows = operations.map(({ name, method, path, why }) =>
  endpoint({
    ...{ name, method, path },
    access: { resource: 'graph', action: 'read' },
    handle: () => {
      throw refusalWith('BadRequest', 'unsupported_operation', why);
    },
  }),
);
