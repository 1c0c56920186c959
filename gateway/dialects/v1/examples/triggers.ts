import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

const trigger = {
  trigger_id: exampleIds.trigger,
  name: 'Pull requests',
  format: 'github',
  enabled: true,
  events: ['pull_request'],
  message: 'Review the pull request of the event.',
  config: { agent: 'default', multitask_strategy: 'enqueue', on_disconnect: 'continue' },
  context: {},
  path: `/v1/triggers/${exampleIds.trigger}/events`,
  created_at: '2026-02-05T12:00:00.000Z',
  updated_at: '2026-02-05T12:00:00.000Z',
};

const params = { trigger_id: exampleIds.trigger };

export const createTrigger: Example = {
  body: {
    format: 'github',
    name: 'Pull requests',
    events: ['pull_request'],
    message: 'Review the pull request of the event.',
    config: { agent: 'default' },
  },
  reply: { ...trigger, secret: '5f1d0c8e7b6a49382716f5e4d3c2b1a0918273645566778899aabbccddeeff00' },
};

export const listTriggers: Example = { query: { limit: 100 }, reply: { triggers: [trigger], has_more: false } };

export const getTrigger: Example = { params, reply: trigger };

export const updateTrigger: Example = { params, body: { enabled: false }, reply: { ...trigger, enabled: false } };

export const rotateTriggerSecret: Example = {
  params,
  body: { overlap_seconds: 3600 },
  reply: { ...trigger, secret: '00ffeeddccbbaa998877665544332211a0b1c2d3e4f5061728394a5b6c7d8e9f' },
};

export const deleteTrigger: Example = { params, reply: { success: true } };

export const receiveEvent: Example = {
  params,
  body: { action: 'opened', number: 7 },
  reply: { run_id: exampleIds.run, thread_id: '019c2f6e-8f00-7a10-8000-3b5c9d1e7f22' },
};
