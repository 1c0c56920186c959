import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';
import { listMessages as messages } from './messages.ts';
import { cancelRun, retryRun, streamRun } from './runs.ts';
import { getState as state } from './state.ts';
import { listRunSteps as steps } from './steps.ts';
import { getRunTrace as trace } from './trace.ts';

const of = { user_id: 'alice' };
const why = { reason: 'Ticket 4711: the customer sees an old price' };

const run = {
  ...of,
  run_id: exampleIds.run,
  thread_id: exampleIds.thread,
  thread_title: null,
  agent: 'default',
  status: 'completed',
  created_at: '2026-02-05T12:00:00.000Z',
  updated_at: '2026-02-05T12:00:00.000Z',
  started_at: '2026-02-05T12:00:00.000Z',
  ended_at: '2026-02-05T12:00:00.000Z',
  iterations: 1,
  recursion_limit_reached: false,
};

const thread = {
  thread_id: exampleIds.thread,
  thread_name: null,
  title: null,
  ...of,
  metadata: null,
  created_at: '2026-02-05T12:00:00.000Z',
  updated_at: '2026-02-05T12:00:00.000Z',
  run_id: exampleIds.run,
  agent: 'default',
  status: 'idle',
};

/** The example of an owner, for things of somebody else. */
const ofOthers = ({ query = {}, ...example }: Example): Example => ({ ...example, query: { ...query, ...of, ...why } });
const changeOfOthers = ({ body = {}, ...example }: Example): Example => ({
  ...example,
  body: { ...body, ...of, ...why },
});

export const listAllRuns: Example = {
  query: { status: ['completed', 'failed'], limit: 10 },
  reply: { runs: [run], has_more: false },
};

export const listAllThreads: Example = { query: { limit: 10 }, reply: { threads: [thread], has_more: false } };

export const listAllQuestions: Example = {
  query: { limit: 10 },
  reply: {
    questions: [
      {
        ...of,
        thread_id: exampleIds.thread,
        run_id: exampleIds.run,
        agent: 'default',
        nodes: ['approve'],
        waiting_since: '2026-02-05T12:00:00.000Z',
      },
    ],
    has_more: false,
  },
};

const ofRun = { params: { run_id: exampleIds.run }, query: of };
const ofThread = { params: { thread_id: exampleIds.thread }, query: of };

export const getRunOfOthers: Example = { ...ofRun, reply: run };

export const getThreadOfOthers: Example = { ...ofThread, reply: thread };

export const getTraceOfOthers: Example = {
  ...trace,
  query: { ...trace.query, ...of },
  reply: { ...(trace.reply as object), shows_content: false },
};
export const listStepsOfOthers = ofOthers(steps);
export const streamRunOfOthers = ofOthers(streamRun);
export const cancelRunOfOthers = changeOfOthers(cancelRun);
export const retryRunOfOthers = changeOfOthers(retryRun);
export const listRunsOfOthersThread: Example = { ...ofThread, reply: { runs: [run], has_more: false } };
export const getStateOfOthers = ofOthers(state);
export const listMessagesOfOthers = ofOthers(messages);

export const exportAudit: Example = {
  query: { limit: 100 },
  reply: `${JSON.stringify({
    ...{ id: '019c2f6e-a100-7a10-8000-3b5c9d1e7f31', at: '2026-02-05T12:00:00.000Z', user_id: 'pat', roles: ['ops'] },
    ...{ action: 'read', operation: 'getStateOfOthers', owner_id: 'alice', thread_id: exampleIds.thread },
    ...why,
    request_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
  })}\n`,
};
