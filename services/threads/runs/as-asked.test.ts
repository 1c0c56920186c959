import test from 'ava';
import { newHead } from '../record/head.ts';
import { toJson } from '../record/json.ts';
import { acceptanceAsAsked } from './as-asked.ts';

test('a run that goes on with the answer of others has the webhook, the priority and the options of the run that asked', (t) => {
  const asking = {
    options: toJson({
      config: { tone: 'brief' },
      resume: { before: 1 },
      answeredBy: [],
      differing: {},
      request: { of: 'it' },
    }),
    granularity: 'full',
    webhook: '{"url":"https://example.com/ends"}',
    priority: 7,
  } as const;
  const accepted = acceptanceAsAsked(
    { owner: 'u:ada', threadId: 'thread' },
    {
      ...{ head: newHead({}, 1), asking, runId: 'next', requestId: 'request', keys: ['question'] },
      given: { resume: { question: true } },
    },
  );
  t.like(accepted, { webhookJson: asking.webhook, priority: 7, granularity: 'full', hasNewInput: false });
  t.deepEqual(JSON.parse(Buffer.from(accepted.optionsJson).toString()), {
    ...{ config: { tone: 'brief' }, initialState: {} },
    resume: { question: true },
  });
});
