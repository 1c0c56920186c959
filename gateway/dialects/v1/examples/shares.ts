import type { Example } from '../schemas/described.ts';
import { getFileInfo } from './files.ts';
import { exampleIds } from './ids.ts';

const share = {
  share_id: exampleIds.share,
  thread_id: exampleIds.thread,
  user_id: 'ada',
  to: { user: 'bob' },
  rights: ['read', 'write'],
  until: '2099-03-05T12:00:00.000Z',
  created_at: '2026-02-05T12:00:00.000Z',
};

const page = { shares: [share], has_more: false };

export const createShare: Example = {
  params: { thread_id: exampleIds.thread },
  body: { to: { user: 'bob' }, rights: ['read', 'write'], until: '2099-03-05T12:00:00.000Z' },
  reply: share,
};

export const listShares: Example = { params: { thread_id: exampleIds.thread }, query: { limit: 100 }, reply: page };

export const deleteShare: Example = {
  params: { thread_id: exampleIds.thread, share_id: exampleIds.share },
  reply: { success: true },
};

export const listSharedWithMe: Example = {
  query: { limit: 100 },
  reply: {
    ...page,
    shares: [{ ...share, thread_title: 'Support', status: 'idle', updated_at: '2026-02-05T12:00:00.000Z' }],
  },
};

export const getSharedShare: Example = { params: { share_id: exampleIds.share }, reply: share };

/** The body of a run in a shared thread. */
export const sharedRun = {
  messages: [{ role: 'user', content: 'What is 6 times 7?' }],
  response_granularity: 'low',
};

const { expires_at: _expires, ...named } = getFileInfo.reply as Readonly<Record<string, unknown>>;

/** A file that a thread names has no end. */
export const sharedFileInfo = named;
